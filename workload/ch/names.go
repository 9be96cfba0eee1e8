package ch

// region and nation rows of the CH-benCHmark. A nation's key is the ASCII code of the character that a
// customer's state begins with, so that customers join nations: 10 digits, 26 capitals, 26 small letters.
type region struct {
	key  int
	name string
}

type nation struct {
	key    int
	name   string
	region int
}

var regions = []region{{1, "Africa"}, {2, "America"}, {3, "Asia"}, {4, "Australia"}, {5, "Europe"}}

var nations = []nation{
	{'0', "Australia", 4}, {'1', "Belgium", 5}, {'2', "Cameroon", 1}, {'3', "Denmark", 5}, {'4', "Ecuador", 2},
	{'5', "France", 5}, {'6', "Germany", 5}, {'7', "Hungary", 5}, {'8', "Italy", 5}, {'9', "Japan", 3},
	{'A', "Kenya", 1}, {'B', "Lithuania", 5}, {'C', "Mexico", 2}, {'D', "Netherlands", 5}, {'E', "Oman", 3},
	{'F', "Portugal", 5}, {'G', "Qatar", 3}, {'H', "Rwanda", 1}, {'I', "Serbia", 5}, {'J', "Togo", 1},
	{'K', "United States", 2}, {'L', "Vietnam", 3}, {'M', "Singapore", 3}, {'N', "Cambodia", 3}, {'O', "Yemen", 3},
	{'P', "Zimbabwe", 1}, {'Q', "Argentina", 2}, {'R', "Bolivia", 2}, {'S', "Canada", 2},
	{'T', "Dominican Republic", 2}, {'U', "Egypt", 1}, {'V', "Finland", 5}, {'W', "Ghana", 1}, {'X', "Haiti", 2},
	{'Y', "India", 3}, {'Z', "Jamaica", 2},
	{'a', "Kazakhstan", 3}, {'b', "Luxemburg", 5}, {'c', "Morocco", 1}, {'d', "Norway", 5}, {'e', "Poland", 5},
	{'f', "Peru", 2}, {'g', "Nicaragua", 2}, {'h', "Romania", 5}, {'i', "South Africa", 1}, {'j', "Thailand", 3},
	{'k', "United Kingdom", 5}, {'l', "Venezuela", 2}, {'m', "Liechtenstein", 5}, {'n', "Austria", 5},
	{'o', "Laos", 3}, {'p', "Zambia", 1}, {'q', "Switzerland", 5}, {'r', "China", 3}, {'s', "Papua New Guinea", 4},
	{'t', "East Timor", 4}, {'u', "Bulgaria", 5}, {'v', "Brazil", 2}, {'w', "Albania", 5}, {'x', "Andorra", 5},
	{'y', "Belize", 2}, {'z', "Botswana", 1},
}

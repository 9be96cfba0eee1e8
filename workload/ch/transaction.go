package ch

import "math/rand/v2"

// Transaction is one of TPC-C's five transactions.
type Transaction uint8

// The transactions, in the order of TPC-C's clauses 2.4 to 2.8.
const (
	NewOrder Transaction = iota
	Payment
	OrderStatus
	Delivery
	StockLevel
	// Transactions is how many there are.
	Transactions = 5
)

var transactionNames = [Transactions]string{"new_order", "payment", "order_status", "delivery", "stock_level"}

// String returns the name that reports use, such as "new_order".
func (t Transaction) String() string { return transactionNames[t] }

// Mix holds the weight of each transaction. The zero Mix is not usable.
type Mix [Transactions]int

var (
	// StandardMix is TPC-C's mix with New-Order at the most that the minima of clause 5.2.3 leave.
	StandardMix = Mix{45, 43, 4, 4, 4}
	// NewOrderOnly is HOAP's operational side.
	NewOrderOnly = Mix{NewOrder: 1}
)

// draw picks a transaction by weight.
func (m Mix) draw(rng *rand.Rand) Transaction {
	total := 0
	for _, w := range m {
		total += w
	}
	t, n := 0, rng.IntN(total)
	for ; n >= m[t]; t++ {
		n -= m[t]
	}
	return Transaction(t)
}

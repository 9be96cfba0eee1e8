package translate

import (
	"maps"
	"slices"
	"strings"
)

// harmless are built-in functions that neither change nor lock anything, whatever
// their arguments. A function that is missing here only keeps its statement from the analytical route.
var harmless = setOf(`
	count sum avg min max bool_and bool_or every any_value string_agg array_agg stddev stddev_pop stddev_samp variance
	var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2 regr_count percentile_cont percentile_disc mode
	json_agg jsonb_agg bit_and bit_or bit_xor
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
	abs ceil ceiling floor round trunc sign mod div power pow sqrt cbrt exp ln log log10 greatest least gcd lcm
	sin cos tan asin acos atan atan2 pi degrees radians width_bucket factorial scale min_scale trim_scale
	length char_length character_length octet_length bit_length upper lower initcap substring substr left right position
	strpos ltrim rtrim btrim trim lpad rpad repeat replace translate reverse concat concat_ws ascii chr split_part starts_with md5
	overlay format to_char to_hex quote_literal quote_ident regexp_replace regexp_match regexp_like regexp_count regexp_substr
	like notlike like_escape similar_to_escape textcat
	extract date_part date_trunc date_bin age make_date make_time make_timestamp make_interval to_date to_timestamp to_number
	isfinite justify_days justify_hours justify_interval timezone now current_timestamp statement_timestamp transaction_timestamp
	coalesce nullif num_nulls num_nonnulls
	date timestamp timestamptz time numeric int2 int4 int8 float4 float8 text varchar bpchar bool
	generate_series unnest array_length cardinality array_to_string json_extract_path json_extract_path_text jsonb_extract_path
	current_schema current_database current_user session_user version pg_typeof
`)

// HarmlessFunctions lists the names of built-in functions that neither change nor lock anything.
func HarmlessFunctions() []string { return slices.Sorted(maps.Keys(harmless)) }

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

package translate

import (
	"maps"
	"slices"
	"strings"
)

// harmless are built-in functions that change nothing, and lock nothing but what any read of it would, whatever
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
	current_catalog current_schemas pg_backend_pid pg_is_in_recovery pg_postmaster_start_time inet_server_addr inet_server_port
	pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_operator_is_visible pg_opclass_is_visible pg_collation_is_visible
	format_type to_regclass to_regtype to_regproc to_regnamespace to_regrole pg_get_userbyid pg_encoding_to_char
	pg_get_expr pg_get_constraintdef pg_get_indexdef pg_get_viewdef pg_get_functiondef pg_get_function_arguments pg_get_function_identity_arguments
	pg_get_function_result pg_get_partkeydef pg_get_triggerdef pg_get_ruledef pg_get_serial_sequence pg_get_keywords pg_index_column_has_property
	pg_get_function_sqlbody pg_get_partition_constraintdef pg_get_statisticsobjdef_columns pg_options_to_table pg_partition_ancestors pg_partition_tree
	pg_relation_is_publishable pg_conversion_is_visible pg_opfamily_is_visible pg_statistics_obj_is_visible pg_ts_config_is_visible
	pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible ts_token_type oidvectortypes getdatabaseencoding pg_char_to_encoding
	pg_listening_channels pg_timezone_names pg_tablespace_location pg_tablespace_size
	obj_description col_description shobj_description pg_describe_object
	has_table_privilege has_any_column_privilege has_column_privilege has_schema_privilege has_database_privilege has_function_privilege
	has_sequence_privilege has_type_privilege has_tablespace_privilege pg_has_role
	pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size pg_size_pretty
	array_upper array_lower array_position array_remove string_to_array generate_subscripts quote_nullable
`)

// HarmlessFunctions lists the names of built-in functions that change nothing, and lock nothing but what any read of it would.
func HarmlessFunctions() []string { return slices.Sorted(maps.Keys(harmless)) }

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

-- create
CREATE CHANGEFEED FOR TABLE "shop"."public"."lines", "shop"."public"."odd ""name", "shop"."public"."orders" INTO 'kafka://broker:9092?tls_enabled=true&topic_prefix=freshet.' WITH envelope = 'wrapped', key_in_value, updated, mvcc_timestamp, diff, full_table_name, resolved = '100ms', min_checkpoint_frequency = '100ms', on_error = 'pause', gc_protect_expires_after = '24h', encode_json_value_null_as_object, schema_change_policy = 'nobackfill', initial_scan = 'no', cursor = '1763632800123456789.0000000002';
-- create, enriched
CREATE CHANGEFEED FOR TABLE "shop"."public"."orders" INTO 'external://o''neill' WITH envelope = 'enriched', enriched_properties = 'source', key_in_value, updated, mvcc_timestamp, diff, full_table_name, resolved = '250ms', min_checkpoint_frequency = '250ms', on_error = 'pause', gc_protect_expires_after = '24h', encode_json_value_null_as_object, schema_change_policy = 'nobackfill', initial_scan = 'no', cursor = '1763632800123456789.0000000002';
-- add tables
ALTER CHANGEFEED 1072079179268751361 ADD "shop"."public"."odd ""name", "shop"."public"."orders" WITH initial_scan = 'no';
-- drop a table
ALTER CHANGEFEED 1072079179268751361 DROP "shop"."public"."lines";
-- add one and drop one
ALTER CHANGEFEED 1072079179268751361 ADD "shop"."public"."orders" WITH initial_scan = 'no' DROP "shop"."public"."lines";
-- pause
PAUSE JOB 1072079179268751361;
-- resume
RESUME JOB 1072079179268751361;
-- drop
CANCEL JOB 1072079179268751361;
-- copy
SELECT "w_id", "o_id", "c_id", "total", "entry" FROM "shop"."public"."orders" AS OF SYSTEM TIME '1763632800123456789.0000000002';

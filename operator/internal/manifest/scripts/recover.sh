# Makes $PGDATA of the archive in $RECOVERY, where there is no $PGDATA yet: from the newest base backup that ended before $BEFORE (empty: the newest
# of all), up to $TARGET_TIME (empty: the end of the log). Arguments are the server's settings. $PGDATA appears when all is done: a run that was
# interrupted is begun anew.
set -eu
if [ -s "$PGDATA/PG_VERSION" ]; then exit 0; fi
if [ -e "$PGDATA" ]; then rmdir "$PGDATA"; fi # and fail where it holds something else
new=$PGDATA.recovery
rm -rf "$new"

chosen=
for backup in "$RECOVERY"/base/[0-9]*; do
    if [ -d "$backup" ] && { [ -z "$BEFORE" ] || [ "${backup##*/}" -lt "$BEFORE" ]; }; then chosen=$backup; fi
done
if [ -z "$chosen" ]; then
    echo "no base backup in the claim ended before ${TARGET_TIME:-now}; give a later targetTime, or the claim that has one" >&2
    exit 1
fi
echo "recovering from base backup ${chosen##*/}"
cp -R -p "$chosen" "$new"
rm "$new/backup_manifest" # the files will differ
chmod 700 "$new"
: >"$new/recovery.signal"

# Nobody but this script gets in, by a socket that only this container sees. The old settings must not write passwords into the log, nor may this
# server archive what it does: until the next base backup nothing could be made of it.
hba=$SOCKETS/recovery_hba.conf
echo "local all all trust" >"$hba"
set -- "$@" -c hba_file="$hba" -c listen_addresses= -c unix_socket_directories="$SOCKETS" -c ssl=off -c hot_standby=off -c archive_mode=off \
    -c log_statement=none -c log_min_duration_statement=-1 -c log_min_error_statement=panic \
    -c restore_command="cp $RECOVERY/wal/%f %p" -c recovery_target_action=promote
if [ -n "$TARGET_TIME" ]; then set -- "$@" -c recovery_target_time="$TARGET_TIME"; fi
postgres -D "$new" "$@" &
server=$!
trap 'kill -INT "$server"; wait "$server"; exit 1' INT TERM
until pg_isready --quiet --host="$SOCKETS"; do
    if ! kill -0 "$server" 2>/dev/null; then
        echo "the server ended before it had recovered; what it said above tells why" >&2
        exit 1
    fi
    sleep 1
done
# The superuser's password is the new cluster's, and what units of the old one have left goes.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host="$SOCKETS" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
\getenv role POSTGRES_USER
\getenv password POSTGRES_PASSWORD
SET password_encryption = 'scram-sha-256';
ALTER ROLE :"role" PASSWORD :'password';
SELECT format('DROP PUBLICATION %I', pubname) FROM pg_publication WHERE pubname ~ '^freshet_[0-9a-f]{8}_[0-9]+$' \gexec
SQL
kill -INT "$server"
wait "$server"
rm -f "$hba"
mv "$new" "$PGDATA"
sync "${PGDATA%/*}"
echo "recovered"

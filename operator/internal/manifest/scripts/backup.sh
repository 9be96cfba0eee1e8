# Takes a base backup into $ARCHIVE, by libpq's environment, and deletes all but the newest $KEEP, with the log that nobody needs then. The name
# of a base backup is the time at which it had ended, in UTC; one with such a name is whole and verified.
set -eu
export LC_ALL=C
base=$ARCHIVE/base
mkdir -p "$base" "$ARCHIVE/wal"
rm -rf "$base/.new" "$base/.old" # the rest of an interrupted run

# all lists the base backups, the oldest first.
all() {
    for backup in "$base"/[0-9]*; do
        if [ -d "$backup" ]; then echo "$backup"; fi
    done
}

# prune deletes what is not kept any more.
prune() {
    count=$(all | wc -l)
    all | head -n $((count > KEEP ? count - KEEP : 0)) | while read -r backup; do
        mv "$backup" "$base/.old" # one that is half deleted must not be taken for whole
        rm -rf "$base/.old"
        echo "base backup ${backup##*/} is deleted"
    done
    oldest=$(all | head -n 1)
    if [ -z "$oldest" ]; then return; fi
    first=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' "$oldest/backup_label")
    pg_archivecleanup "$ARCHIVE/wal" "$first"
}

# Nothing is deleted that may be another database's.
identity=$(psql --no-psqlrc --no-password --tuples-only --no-align --dbname=replication=true --command=IDENTIFY_SYSTEM)
newest=$(all | tail -n 1)
if [ -n "$newest" ] && [ "$(pg_controldata "$newest" | sed -n 's/^Database system identifier: *//p')" != "${identity%%|*}" ]; then
    echo "the archive has base backups of another database: use an empty one" >&2
    exit 1
fi
prune # before there is another one: fewer may be kept than before, because the volume is full
pg_basebackup --pgdata="$base/.new" --format=plain --wal-method=stream --checkpoint=fast --no-password
pg_verifybackup --quiet "$base/.new"
while name=$(date -u +%Y%m%d%H%M%S) && [ -e "$base/$name" ]; do sleep 1; done
mv "$base/.new" "$base/$name"
sync "$base"
echo "base backup $name is taken and verified"
prune

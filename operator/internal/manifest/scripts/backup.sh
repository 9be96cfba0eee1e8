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

# system is the identifier of the database whose files are in a folder.
system() { pg_controldata "$1" | sed -n 's/^Database system identifier: *//p'; }

pg_basebackup --pgdata="$base/.new" --format=plain --wal-method=stream --checkpoint=fast --no-password
pg_verifybackup --quiet "$base/.new"
newest=$(all | tail -n 1)
if [ -n "$newest" ] && [ "$(system "$newest")" != "$(system "$base/.new")" ]; then
    echo "the archive has base backups of another database: use an empty one" >&2
    exit 1
fi
while name=$(date -u +%Y%m%d%H%M%S) && [ -e "$base/$name" ]; do sleep 1; done
mv "$base/.new" "$base/$name"
sync "$base"
echo "base backup $name is taken and verified"

count=$(all | wc -l)
all | head -n $((count > KEEP ? count - KEEP : 0)) | while read -r backup; do
    mv "$backup" "$base/.old" # one that is half deleted must not be taken for whole
    rm -rf "$base/.old"
    echo "base backup ${backup##*/} is deleted"
done
first=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' "$(all | head -n 1)/backup_label")
pg_archivecleanup "$ARCHIVE/wal" "$first"

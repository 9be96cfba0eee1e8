# archive_command: copies $1, a finished segment of the log, to $2 in the archive. A file in the archive is whole or not there, is on the disk
# before PostgreSQL may forget its own, and is never replaced by another.
set -eu
segment=$1 target=$2
folder=${target%/*}
if [ ! -d "$folder" ]; then
    mkdir "$folder"
    sync "${folder%/*}"
fi
if [ -e "$target" ]; then
    # PostgreSQL asks again for what was archived just before it crashed.
    if ! cmp -s "$segment" "$target"; then
        echo "$target is in the archive with another content: it is another database's archive; use an empty one" >&2
        exit 1
    fi
    sync "$target"
else
    new=$folder/.${target##*/}.new
    rm -f "$new" # the rest of an interrupted copy
    cp "$segment" "$new"
    sync "$new"
    mv "$new" "$target"
fi
sync "$folder"

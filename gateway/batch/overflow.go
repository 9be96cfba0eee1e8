package batch

import (
	"fmt"
	"os"

	"github.com/freshet-io/freshet/connectors/tempfile"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// maxOverflow bounds what one result may have on disk, in bytes.
const maxOverflow = 1 << 30

// overflow keeps on disk what only the slow among several readers of a result still need, in a file without a name. The zero value has none.
type overflow struct {
	file *os.File
	size int64
	// broken says that the disk took no more.
	broken bool
}

// chunk is rows of a result as the engine yielded them, in memory or on disk.
type chunk struct {
	rows datarow.Rows
	// count, length and offset say where in the overflow they are; count is zero in memory.
	count, length int
	offset        int64
}

// held is how much memory a chunk takes, in bytes.
func (c chunk) held() int { return len(c.rows.Messages()) }

// takes reports whether there is room for more.
func (o *overflow) takes() bool { return !o.broken && o.size < maxOverflow }

// add moves chunks to disk; one that the disk does not take stays where it is, as do all after it.
func (o *overflow) add(chunks []chunk) {
	if o.file == nil {
		file, err := tempfile.Create("", "freshet-result-")
		if err != nil {
			o.broken = true
			return
		}
		o.file = file
	}
	for i := range chunks {
		c := &chunks[i]
		if c.count > 0 {
			continue
		}
		written, err := o.file.WriteAt(c.rows.Messages(), o.size)
		if err != nil {
			o.broken = true
			return
		}
		*c = chunk{count: c.rows.Len(), length: written, offset: o.size}
		o.size += int64(written)
	}
}

// read returns a chunk's rows.
func (o *overflow) read(c chunk) (datarow.Rows, error) {
	if c.count == 0 {
		return c.rows, nil
	}
	messages := make([]byte, c.length)
	if _, err := o.file.ReadAt(messages, c.offset); err != nil {
		return datarow.Rows{}, fmt.Errorf("read a result back from disk: %w", err)
	}
	return datarow.Messages(messages, c.count), nil
}

// close gives the disk's room back.
func (o *overflow) close() {
	if o.file != nil {
		o.file.Close()
		o.broken = true
	}
}

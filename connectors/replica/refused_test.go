package replica

import (
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

func TestTable_isRefusedTooLongOnlyByWhatIsItsOwnFault(t *testing.T) {
	refused := &ch.Exception{Code: proto.ErrAmbiguousColumnName}
	memory := &ch.Exception{Code: proto.ErrMemoryLimitExceeded}
	disk := &ch.Exception{Code: proto.ErrCannotWriteToFileDescriptor, Message: "No space left on device"}
	tests := []struct {
		name    string
		first   error
		between error
		last    error
		after   time.Duration
		want    bool
	}{
		{"refused all the time", refused, refused, refused, mostRefused, true},
		{"not for long", refused, refused, refused, mostRefused - 1, false},
		{"built once", refused, nil, refused, mostRefused, false},
		{"built at last", refused, refused, nil, mostRefused, false},
		{"short of memory", memory, memory, memory, mostRefused, false},
		{"short of disk", disk, disk, disk, mostRefused, false},
		{"short of memory at last", refused, refused, memory, mostRefused, false},
		{"not the engine's answer", errMissingKey, errMissingKey, errMissingKey, mostRefused, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tb table
			now := time.Unix(1e9, 0)
			if tb.refusedTooLong(tt.first, now) || tb.refusedTooLong(tt.between, now.Add(mostRefused/2)) {
				t.Fatal("refused too long before the time")
			}
			if got := tb.refusedTooLong(tt.last, now.Add(tt.after)); got != tt.want {
				t.Errorf("refused too long: %v, want %v", got, tt.want)
			}
		})
	}
}

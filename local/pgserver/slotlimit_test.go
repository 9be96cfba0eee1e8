package pgserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSlotLimit_isAThirdOfWhatTheLogMayTake(t *testing.T) {
	const gb = 1 << 30
	for _, tc := range []struct {
		name      string
		free, log int64
		want      string
	}{
		{"empty disk", 90 * gb, 0, "30720MB"},
		{"the replica is behind", 60 * gb, 30 * gb, "30720MB"},
		{"small disk", 3 * gb, 0, "1024MB"},
		{"full disk", 0, 16 << 20, "64MB"},
	} {
		if got := slotLimit(tc.free, tc.log); got != tc.want {
			t.Errorf("%s: a slot may keep %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestLogSize_countsSegmentsOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "archive_status"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000000010000000000000001", "000000010000000000000002"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := logSize(dir); got != 2000 || err != nil {
		t.Errorf("the log takes %d bytes, %v; want 2000", got, err)
	}
}

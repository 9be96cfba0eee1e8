package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nobody has passed a file descriptor 3 to a gateway that a person starts: Go's runtime may have that itself.
func TestGateway_leavesFileDescriptorsAloneUnlessTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.json")
	config := `{"listen": "127.0.0.1:0", "postgres_url": "postgresql://127.0.0.1:1/x", "engine_addr": "127.0.0.1:1"}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--ready-fd=0": "", "--ready-fd=3": `{"listen":"127.0.0.1:`} {
		cmd := exec.Command(os.Args[0], "gateway", "--config", file, flag)
		cmd.Env = append(os.Environ(), asFreshet+"=1")
		told, third, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer told.Close()
		cmd.ExtraFiles = []*os.File{third}
		log, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Start()
		third.Close()
		if err != nil {
			t.Fatal(err)
		}
		var seen strings.Builder
		for lines := bufio.NewScanner(log); lines.Scan(); {
			seen.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "retry_in") { // after the endpoint listens
				break
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(told)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", flag, err, seen.String())
		}
		if !strings.HasPrefix(string(got), want) || (want == "") != (len(got) == 0) {
			t.Errorf("%s: file descriptor 3 was told %q, want %q…", flag, got, want)
		}
	}
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// options are the command line.
type options struct {
	library  string
	data     string
	config   string
	host     string
	logLevel string
	httpPort int
	tcpPort  int
	readyFD  int
}

func main() {
	var o options
	flag.StringVar(&o.library, "library", "", "path of the engine's library")
	flag.StringVar(&o.data, "data", "", "data folder; one process at a time may use it")
	flag.StringVar(&o.config, "config", "", "the engine's configuration file")
	flag.StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	flag.StringVar(&o.logLevel, "log-level", "warning", "the engine's log level, to standard error")
	flag.IntVar(&o.httpPort, "http-port", 8123, "port of the HTTP protocol; 0 does not open it")
	flag.IntVar(&o.tcpPort, "tcp-port", 9000, "port of the native protocol")
	flag.IntVar(&o.readyFD, "ready-fd", 1, `file descriptor that gets the line "ready"`)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// A write beyond a file size limit shall be the statement's error, not the end of the engine.
	signal.Ignore(syscall.SIGXFSZ)
	if err := serve(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "freshet-engine:", err)
		os.Exit(1)
	}
}

// serve runs the engine until ctx ends. The engine is its command-line mode with two scripts: the first opens the ports,
// the second is a FIFO. The engine opens the FIFO when the first script is done, which is how we know that it is ready;
// it reads until we close our end, which is how we stop it.
func serve(ctx context.Context, o options) error {
	if o.library == "" || o.data == "" {
		return errors.New("--library and --data are needed")
	}
	lib, err := loadLibrary(o.library)
	if err != nil {
		return err
	}
	// In the data folder, where the next start finds and replaces what a killed engine left.
	scripts := filepath.Join(o.data, "freshet-scripts")
	if err := os.RemoveAll(scripts); err != nil {
		return err
	}
	if err := os.MkdirAll(scripts, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(scripts)
	open, hold := filepath.Join(scripts, "open.sql"), filepath.Join(scripts, "hold.sql")
	if err := os.WriteFile(open, []byte(o.listen("START")), 0o600); err != nil {
		return err
	}
	if err := unix.Mkfifo(hold, 0o600); err != nil {
		return fmt.Errorf("make FIFO %s: %w", hold, err)
	}
	argv := []string{"clickhouse-local", "--path", o.data, "--listen_host", o.host, "--tcp_port", strconv.Itoa(o.tcpPort),
		"--log-level", o.logLevel, "--logger.console", "1"}
	if o.httpPort != 0 {
		argv = append(argv, "--http_port", strconv.Itoa(o.httpPort))
	}
	if o.config != "" {
		argv = append(argv, "--config-file", o.config)
	}
	argv = append(argv, "--queries-file", open, hold)

	done := make(chan error, 1)
	go func() { done <- lib.run(argv) }()
	writer := make(chan *os.File, 1)
	go func() { // blocks until the engine opens the other end; ends with the process where it never does
		f, err := os.OpenFile(hold, os.O_WRONLY, 0)
		if err == nil {
			writer <- f
		}
	}()
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
		return nil // not open yet: nothing to close in order
	case f := <-writer:
		defer f.Close()
		ready := os.NewFile(uintptr(o.readyFD), "ready-fd")
		if _, err := fmt.Fprintln(ready, "ready"); err != nil {
			return fmt.Errorf("report readiness: %w", err)
		}
		return o.holdOpen(ctx, f, done)
	}
}

// listen returns the statements that START or STOP to listen.
func (o options) listen(verb string) string {
	statements := "SYSTEM " + verb + " LISTEN TCP;"
	if o.httpPort != 0 {
		statements = "SYSTEM " + verb + " LISTEN HTTP; " + statements
	}
	return statements
}

// holdOpen keeps the engine running until ctx ends, then lets it finish its script and close everything.
func (o options) holdOpen(ctx context.Context, f *os.File, done <-chan error) error {
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
	}
	if _, err := f.WriteString(o.listen("STOP")); err != nil {
		return fmt.Errorf("stop the engine: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("stop the engine: %w", err)
	}
	return <-done
}

// ended says that the engine ended without having been asked to.
func ended(err error) error {
	if err == nil {
		err = errors.New("the engine ended by itself")
	}
	return err
}

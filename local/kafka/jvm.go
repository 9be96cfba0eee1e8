package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/local/process"
)

// oldestJava is the major version that Kafka 4 and Debezium 3 need.
const oldestJava = 17

// findJava returns the java program of JAVA_HOME or PATH, provided that it is recent enough.
func findJava(ctx context.Context) (string, error) {
	const remedy = "install a Java runtime of version 17 or later (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(java)
	if err != nil {
		return "", fmt.Errorf("find %s: %w; %s", java, err, remedy)
	}
	// As little memory as it can do with: by default Java reserves a share of the machine's, which it may not get.
	cmd := exec.CommandContext(ctx, path, "-Xmx16m", "-XX:+UseSerialGC", "--version")
	cmd.Dir = "/" // Java does not start in a folder that was deleted
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			said = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("ask %s for its version: %w%s; %s", path, err, said, remedy)
	}
	if major := javaMajor(string(out)); major < oldestJava {
		return "", fmt.Errorf("use %s: its version is %d; %s", path, major, remedy)
	}
	return path, nil
}

// CheckJava makes sure that a Java program is there which is recent enough; the error says how to get one.
func CheckJava(ctx context.Context) error {
	_, err := findJava(ctx)
	return err
}

// javaMajor reads the major version from "openjdk 17.0.15 2025-04-15"; 0 for anything else, as of Java 8, which knows no --version.
func javaMajor(output string) int {
	fields := strings.Fields(output)
	if len(fields) < 2 {
		return 0
	}
	end := strings.IndexAny(fields[1]+".", ".-+")
	n, err := strconv.Atoi(fields[1][:end])
	if err != nil {
		return 0
	}
	return n
}

// program is a Java program to run.
type program struct {
	title string // "Kafka"
	jars  string
	main  string
	args  []string
	heap  int64 // bytes
	// options are added to the virtual machine's.
	options []string
	dir     string // its folder: logging configuration, working directory
	logFile string
	cores   []int
	nice    int
}

// logging keeps the servers' own log short: what they print is appended to the log file by this package.
const logging = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p %c{1}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.debezium.name=io.debezium.connector
logger.debezium.level=info
logger.task.name=io.debezium.connector.common.BaseSourceTask
logger.task.level=warn
logger.measure.name=io.debezium.metrics.stats
logger.measure.level=error
logger.worker.name=org.apache.kafka.connect.runtime.distributed
logger.worker.level=info
logger.network.name=org.apache.kafka.clients.NetworkClient
logger.network.level=error
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
`

// command returns the arguments of java.
func (p program) command() ([]string, error) {
	config := filepath.Join(p.dir, "log4j2.properties")
	if err := os.WriteFile(config, []byte(logging), 0o600); err != nil {
		return nil, fmt.Errorf("write %s's logging configuration: %w", p.title, err)
	}
	// What the last run unpacked for itself, native libraries for one, stays behind when it is killed.
	temporary := filepath.Join(p.dir, "tmp")
	if err := os.RemoveAll(temporary); err != nil {
		return nil, fmt.Errorf("empty %s's temporary folder: %w", p.title, err)
	}
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return nil, fmt.Errorf("make %s's temporary folder: %w", p.title, err)
	}
	args := []string{
		// A small machine runs several virtual machines: no memory beyond the heap that is not needed, no threads for collectors.
		fmt.Sprintf("-Xms%d", p.heap/4), fmt.Sprintf("-Xmx%d", p.heap), "-XX:+UseSerialGC", "-XX:MaxMetaspaceSize=192m", "-XX:ReservedCodeCacheSize=96m",
		"-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true", "-Xshare:auto", "-Dlog4j2.configurationFile=" + config,
		"-Djava.io.tmpdir=" + temporary, "-XX:-UsePerfData",
	}
	args = append(args, p.options...)
	args = append(args, "-cp", filepath.Join(p.jars, "*"), p.main)
	return append(args, p.args...), nil
}

// start starts the program as a child and returns when ready reports true.
func (p program) start(ctx context.Context, child *process.Child, ready func(context.Context) bool) error {
	java, err := findJava(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.title, err)
	}
	args, err := p.command()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open %s's log: %w", p.title, err)
	}
	defer log.Close()
	if err := child.Launch(process.Spec{Path: java, Args: args, Dir: p.dir, Output: log, Cores: p.cores, Nice: p.nice}); err != nil {
		return err
	}
	if err := waitReady(ctx, child, ready); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w; its log %s ends:\n%s", p.title, err, p.logFile, process.LogTail(p.logFile)), child.Kill())
	}
	return nil
}

func waitReady(ctx context.Context, child *process.Child, ready func(context.Context) bool) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		ok := ready(attempt)
		cancel()
		if ok {
			return nil
		}
		select {
		case <-child.Done():
			return errors.New("it ended: " + child.Exit())
		case <-ctx.Done():
			return fmt.Errorf("wait until it is ready: %w", ctx.Err())
		case <-poll.C:
		}
	}
}

// properties writes a Java properties file of settings; the later override the earlier.
func properties(path string, settings ...map[string]string) error {
	all := map[string]string{}
	for _, s := range settings {
		for k, v := range s {
			all[k] = v
		}
	}
	var b strings.Builder
	for k, v := range all {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.ReplaceAll(v, `\`, `\\`))
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

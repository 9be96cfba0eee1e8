package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// oldestJava is the major version that Kafka 4 and Debezium 3 need.
const oldestJava = 17

// linkOptions say what is in the runtime: what Kafka's and Debezium's jars may ask for, and nothing for developers.
var linkOptions = []string{
	"--add-modules=java.se,jdk.crypto.ec,jdk.management,jdk.security.auth,jdk.unsupported",
	"--strip-java-debug-attributes", "--no-man-pages", "--no-header-files",
}

// javaRuntime returns the folder of a Java runtime that is linked of this machine's JDK: a third of its size. The folder is named by the
// JDK's version and by the options.
func (b builder) javaRuntime(ctx context.Context) (string, error) {
	jlink, version, err := findJlink(ctx)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(version + "\n" + strings.Join(linkOptions, "\n")))
	dir := filepath.Join(b.dir, "java-"+hex.EncodeToString(key[:6]))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	b.progress("linking a Java runtime " + version)
	staging := dir + ".staging" // the lock is held: what lies here is the rest of an interrupted build
	if err := os.RemoveAll(staging); err != nil {
		return "", err
	}
	defer os.RemoveAll(staging)
	if _, err := javaTool(ctx, jlink, append(linkOptions, "--output="+staging)...); err != nil {
		return "", fmt.Errorf("link a Java runtime: %w", err)
	}
	// Java starts faster with its own classes mapped from a file.
	if _, err := javaTool(ctx, filepath.Join(staging, "bin", "java"), "-Xshare:dump"); err != nil {
		return "", fmt.Errorf("map the Java runtime's classes: %w", err)
	}
	return dir, os.Rename(staging, dir)
}

// findJlink returns the program of JAVA_HOME or PATH that links runtimes, and its version.
func findJlink(ctx context.Context) (path, version string, err error) {
	const remedy = "install a JDK of version 17 or later (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME to one"
	jlink := "jlink"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		jlink = filepath.Join(home, "bin", "jlink")
	}
	if path, err = exec.LookPath(jlink); err != nil {
		return "", "", fmt.Errorf("find %s, for the image of Kafka: %w; %s", jlink, err, remedy)
	}
	if version, err = javaTool(ctx, path, "--version"); err != nil {
		return "", "", fmt.Errorf("ask %s for its version: %w; %s", path, err, remedy)
	}
	number, _, _ := strings.Cut(version, ".")
	if major, err := strconv.Atoi(number); err != nil || major < oldestJava {
		return "", "", fmt.Errorf("use %s: its version is %q; %s", path, version, remedy)
	}
	return path, version, nil
}

// javaTool runs a program of Java's and returns what it printed.
func javaTool(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", program, err, stdout.String(), stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

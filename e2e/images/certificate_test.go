//go:build kubernetes

package images_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// giveCertificate puts a certificate where the server looks for it, as a Secret's volume does.
func giveCertificate(t *testing.T, c container) {
	t.Helper()
	cfg, err := pgwire.SelfSignedTLS(time.Now(), "localhost")
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cfg.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := c.volume(t, "/etc/freshet/tls")
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	group := int(info.Sys().(*syscall.Stat_t).Gid)
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: cfg.Certificates[0].Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, pem.EncodeToMemory(block), 0o440), os.Chown(path, 0, group)); err != nil {
			t.Fatal(err)
		}
	}
}

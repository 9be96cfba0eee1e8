package kubectl

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// endpoint is a way to a ready unit's SQL port, with the credentials of the cluster's connection Secret.
type endpoint struct {
	unit                     string
	host, addr               string
	user, password, database string
	// authority is what the certificate is verified by, PEM; empty: the system's authorities.
	authority []byte

	tunnel *tunnel
}

func (e *endpoint) close() { e.tunnel.close() }

// endpoint opens the way to a cluster's endpoint by what the flags say. The caller closes it.
func (p *plugin) endpoint(ctx context.Context, name string) (*endpoint, error) {
	a, err := p.open()
	if err != nil {
		return nil, err
	}
	return a.endpoint(ctx, name)
}

// endpoint opens a way to a cluster's SQL endpoint.
func (a *access) endpoint(ctx context.Context, name string) (*endpoint, error) {
	c, err := a.cluster(ctx, a.namespace, name)
	if err != nil {
		return nil, err
	}
	e := &endpoint{host: manifest.Hosts(c)[2]}
	if err := a.readCredentials(ctx, c, e); err != nil {
		return nil, err
	}
	if e.authority, err = a.authority(ctx, c); err != nil {
		return nil, err
	}
	pod, err := a.readyUnit(ctx, c)
	if err != nil {
		return nil, err
	}
	if e.tunnel, err = a.forwarder.forward(ctx, c.Namespace, pod, manifest.SQLPort); err != nil {
		return nil, err
	}
	e.unit, e.addr = pod, e.tunnel.addr
	return e, nil
}

func (a *access) readCredentials(ctx context.Context, c *v1alpha1.HTAPCluster, e *endpoint) error {
	if c.Status.ConnectionSecret == "" {
		return fmt.Errorf("HTAPCluster %q has no connection Secret yet; kubectl freshet status %[1]s says why", c.Name)
	}
	secret, err := a.secret(ctx, c.Namespace, c.Status.ConnectionSecret)
	if err != nil {
		return err
	}
	cfg, err := pgx.ParseConfig(string(secret.Data["uri"]))
	if err != nil {
		return fmt.Errorf("read key uri of Secret %q: %w; write it as postgresql://user:password@host:port/database", secret.Name, err)
	}
	e.user, e.password, e.database = cfg.User, cfg.Password, cfg.Database
	return nil
}

// authority reads what vouches for the endpoint's certificate.
func (a *access) authority(ctx context.Context, c *v1alpha1.HTAPCluster) ([]byte, error) {
	name, own := manifest.AuthoritySecret(c)
	secret, err := a.secret(ctx, c.Namespace, name)
	if err != nil {
		return nil, err
	}
	ca := secret.Data["ca.crt"]
	if len(ca) == 0 && own {
		return nil, fmt.Errorf("Secret %q has no key ca.crt, so the endpoint's certificate cannot be verified; the operator repairs that if it runs", name)
	}
	return ca, nil
}

// readyUnit picks a unit that is in service.
func (a *access) readyUnit(ctx context.Context, c *v1alpha1.HTAPCluster) (string, error) {
	pods, err := a.units(ctx, c)
	if err != nil {
		return "", err
	}
	slices.SortFunc(pods, func(x, y corev1.Pod) int { return cmp.Compare(x.Name, y.Name) })
	for i := range pods {
		if manifest.PodReady(&pods[i]) {
			return pods[i].Name, nil
		}
	}
	return "", fmt.Errorf("none of %d units of HTAPCluster %q is ready; kubectl freshet status %[2]s says why", len(pods), c.Name)
}

// tls is how the endpoint's certificate is verified, whatever address it is reached by.
func (e *endpoint) tls() (*tls.Config, error) {
	cfg := &tls.Config{ServerName: e.host, MinVersion: tls.VersionTLS12}
	if len(e.authority) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(e.authority) {
			return nil, errors.New("read the endpoint's authority: ca.crt holds no certificate in PEM form")
		}
	}
	return cfg, nil
}

// connect opens a session.
func (e *endpoint) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("sslmode=disable") // what is missing is filled in, not taken from the environment
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(e.addr)
	if err != nil {
		return nil, err
	}
	cfg.Host, cfg.User, cfg.Password, cfg.Database, cfg.Fallbacks = host, e.user, e.password, e.database, nil
	if _, err := fmt.Sscan(port, &cfg.Port); err != nil {
		return nil, err
	}
	if cfg.TLSConfig, err = e.tls(); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to unit %s: %s; kubectl logs %[1]s -c gateway may say more", e.unit, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return conn, nil
}

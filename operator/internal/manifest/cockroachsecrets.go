package manifest

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// CockroachRole is the role of units and of users, an administrator.
const CockroachRole = "freshet"

// SinkName names the Secret with the address that changefeeds send to.
func SinkName(c *v1alpha1.HTAPCluster) string { return c.Name + "-sink" }

// sinkKey is the Secret's only key.
const sinkKey = "sink"

// CockroachAuthority is the Secret with the authority.
func (c Cluster) CockroachAuthority(cert, key []byte) *corev1.Secret {
	return c.cockroachSecret(CockroachCAName(c.HTAPCluster), map[string][]byte{"ca.crt": cert, "ca.key": key})
}

// CockroachNodes is the Secret with the certificate that all nodes share, under the names that the server asks for.
func (c Cluster) CockroachNodes(authority, cert, key []byte) *corev1.Secret {
	return c.cockroachSecret(NodesName(c.HTAPCluster), map[string][]byte{"ca.crt": authority, "node.crt": cert, "node.key": key})
}

// CockroachRoot is the Secret with root's certificate.
func (c Cluster) CockroachRoot(authority, cert, key []byte) *corev1.Secret {
	return c.cockroachSecret(CockroachRootName(c.HTAPCluster), map[string][]byte{"ca.crt": authority, "client.root.crt": cert, "client.root.key": key})
}

func (c Cluster) cockroachSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(c.HTAPCluster, componentOLTP, name), Data: data}
}

// CockroachConnection is the Secret with the credentials, as that of a builtin PostgreSQL.
func (c Cluster) CockroachConnection(password string, authority []byte) *corev1.Secret {
	database := c.Spec.OLTP.CockroachDB.Database
	uri := func(address, parameters string) []byte {
		return fmt.Appendf(nil, "postgresql://%s:%s@%s/%s?%s", CockroachRole, password, address, database, parameters)
	}
	return c.cockroachSecret(OLTPName(c.HTAPCluster), map[string][]byte{
		"username": []byte(CockroachRole), "password": []byte(password), "database": []byte(database), "ca.crt": authority,
		"uri":          uri(fmt.Sprintf("%s:%d", CockroachHosts(c.HTAPCluster)[0], CockroachPort), "sslmode=verify-full"),
		"endpoint-uri": uri(Endpoint(c.HTAPCluster), "sslmode=require"),
	})
}

// Sink is the Secret with the address that changefeeds send to, which holds the credentials of Kafka.
func (c Cluster) Sink(k kafka.Config) *corev1.Secret {
	q := url.Values{}
	if t := k.TLS; t != nil {
		q.Set("tls_enabled", "true")
		for name, pem := range map[string]string{"ca_cert": t.CA, "client_cert": t.Cert, "client_key": t.Key} {
			if pem != "" {
				q.Set(name, base64.StdEncoding.EncodeToString([]byte(pem)))
			}
		}
	}
	if s := k.SASL; s != nil {
		q.Set("sasl_enabled", "true")
		q.Set("sasl_mechanism", string(s.Mechanism))
		q.Set("sasl_user", s.User)
		q.Set("sasl_password", s.Password.Value)
	}
	sink := url.URL{Scheme: "kafka", Host: strings.Join(k.Brokers, ","), RawQuery: q.Encode()}
	return &corev1.Secret{
		ObjectMeta: meta(c.HTAPCluster, componentPipeline, SinkName(c.HTAPCluster)),
		Data:       map[string][]byte{sinkKey: []byte(sink.String())},
	}
}

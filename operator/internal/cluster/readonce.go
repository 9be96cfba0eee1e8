package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readOnce is a client for one run: it reads each Secret once from the API server, however many tasks need it, so that all of them see
// the same one. Secrets are in no cache, and nothing of them is kept when the run is over.
type readOnce struct {
	client.Client
	secrets map[client.ObjectKey]secretRead
}

// secretRead is what a read gave.
type secretRead struct {
	secret *corev1.Secret
	err    error
}

func newReadOnce(c client.Client) *readOnce {
	return &readOnce{Client: c, secrets: map[client.ObjectKey]secretRead{}}
}

// Get implements client.Reader.
func (c *readOnce) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	into, is := obj.(*corev1.Secret)
	if !is {
		return c.Client.Get(ctx, key, obj, options...)
	}
	read, known := c.secrets[key]
	if !known {
		read.secret = &corev1.Secret{}
		read.err = c.Client.Get(ctx, key, read.secret, options...)
		c.secrets[key] = read
	}
	read.secret.DeepCopyInto(into)
	return read.err
}

// Apply implements client.Writer. What was read is no longer true then; the operator writes Secrets in no other way.
func (c *readOnce) Apply(ctx context.Context, obj runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	clear(c.secrets)
	return c.Client.Apply(ctx, obj, options...)
}

package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forwarder reaches ports of pods.
type forwarder interface {
	// forward makes a pod's port reachable on this machine, until the tunnel is closed.
	forward(ctx context.Context, namespace, pod string, port int) (*tunnel, error)
}

// tunnel is a port of a pod, here.
type tunnel struct {
	// addr is host:port on loopback.
	addr  string
	close func()
}

// podForwarder does as kubectl port-forward does.
type podForwarder struct {
	config *rest.Config
	core   *rest.RESTClient
}

func newPodForwarder(config *rest.Config, core *rest.RESTClient) forwarder {
	return &podForwarder{config: config, core: core}
}

func (f *podForwarder) forward(ctx context.Context, namespace, pod string, port int) (*tunnel, error) {
	fail := func(err error) (*tunnel, error) {
		return nil, fmt.Errorf("forward port %d of pod %s: %w", port, pod, err)
	}
	dialer, err := f.dialer(namespace, pod)
	if err != nil {
		return fail(err)
	}
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	pf, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return fail(err)
	}
	var failure error // once it has ended
	go func() {
		defer close(ended)
		failure = pf.ForwardPorts()
	}()
	t := &tunnel{close: func() {
		close(stop)
		<-ended
	}}
	select {
	case <-ended:
		return fail(errors.Join(remedy(failure), ctx.Err()))
	case <-ctx.Done():
		close(stop) // dialling may take its time yet, which nobody waits for
		return fail(ctx.Err())
	case <-ready:
	}
	ports, err := pf.GetPorts()
	if err != nil {
		t.close()
		return fail(err)
	}
	t.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
	return t, nil
}

// dialer tunnels through a websocket, or through SPDY where the API server or a proxy before it knows nothing else.
func (f *podForwarder) dialer(namespace, pod string) (httpstream.Dialer, error) {
	url := f.core.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, f.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	return portforward.NewFallbackDialerForStreaming(websocket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

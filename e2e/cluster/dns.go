package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
)

// startDNS starts the server that pods ask for names. It is not in a pod: it needs none.
func (c *Cluster) startDNS(ctx context.Context) error {
	config := filepath.Join(c.cfg.Dir, "Corefile")
	if err := write(config, "Corefile", map[string]string{"IP": nodeIP(1), "Kubeconfig": c.Kubeconfig}); err != nil {
		return err
	}
	if err := c.start("coredns", c.cfg.CoreDNS, "-conf", config); err != nil {
		return err
	}
	return c.until(ctx, "CoreDNS", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+nodeIP(1)+":8181/ready", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("it answers %s", response.Status)
		}
		_ = response.Body.Close()
		return err
	})
}

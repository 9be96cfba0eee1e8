package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/freshet-io/freshet/local/process"
)

// start starts a program of the cluster, whose log is in the cluster's folder. It runs until our namespaces end.
func (c *Cluster) start(name, path string, args ...string) error {
	log, err := os.Create(filepath.Join(c.cfg.Dir, "log", name+".log"))
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close()
	p, err := process.Start(process.Spec{Path: path, Args: args, Output: log})
	if err != nil {
		return err
	}
	c.ends.Go(func() {
		<-p.Done()
		select {
		case c.ended <- fmt.Errorf("%s ended: %s; its log is %s", name, p.Exit(), log.Name()):
		default: // one is enough to know
		}
	})
	return nil
}

// until waits for a condition. An error of the condition means "not yet"; the last one tells why it never came.
func (c *Cluster) until(ctx context.Context, what string, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-c.ended:
			return false, err
		default:
		}
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w (last: %w)", what, err, last)
	}
	return nil
}

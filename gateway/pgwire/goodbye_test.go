package pgwire

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A client that does not read keeps no session that has ended.
func TestSession_endsThoughItsClientDoesNotReadWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, unread := net.Pipe()
		defer unread.Close()
		s := newSession(NewServer(Config{}), client, 1)
		defer s.close()
		ended := make(chan struct{})
		go func() {
			s.endClient(errShutdown)
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			t.Error("the session waits for its client")
			client.Close()
			<-ended
		}
	})
}

package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCurrentCalls_shareQuestionsAskedAfterTheyBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls currentCalls
		var log, asked atomic.Uint64
		question := func(context.Context) (logState, error) {
			asked.Add(1)
			time.Sleep(time.Millisecond) // the server reads its position when the question arrives there
			at := log.Load()
			time.Sleep(time.Millisecond)
			return logState{inserted: at}, nil
		}
		for i := range 1000 {
			go func() {
				time.Sleep(time.Duration(i) * 10 * time.Microsecond)
				mine := log.Add(1) // a commit that this caller must see
				w, err := calls.ask(t.Context(), question)
				if err != nil || w.inserted < mine {
					t.Errorf("position %d is before the caller's commit %d, error %v", w.inserted, mine, err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := asked.Load(); n > 20 {
			t.Errorf("%d questions for 1,000 calls in 10 ms at 2 ms each", n)
		}
	})
}

func TestCurrentCalls_surviveTheAskerThatGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls currentCalls
		question := func(ctx context.Context) (logState, error) {
			select {
			case <-ctx.Done():
				return logState{}, ctx.Err()
			case <-time.After(10 * time.Millisecond):
				return logState{inserted: 1}, nil
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		go func() { _, _ = calls.ask(t.Context(), question) }()
		synctest.Wait()
		go func() { // leads the next question
			if _, err := calls.ask(leaving, question); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}()
		synctest.Wait()
		joined := make(chan error, 1)
		go func() {
			_, err := calls.ask(t.Context(), question)
			joined <- err
		}()
		synctest.Wait()
		leave()
		if err := <-joined; err != nil {
			t.Error(err)
		}
	})
}

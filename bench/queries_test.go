package bench

import (
	"encoding/json"
	"testing"
)

func TestQuerySpeeds_canBeWrittenIfNoQueryWasAnswered(t *testing.T) {
	c := QuerySpeeds{Queries: []QuerySpeed{{Query: "Q1", Failed: true}, {Query: "Q2", Failed: true}}}
	c.sum()
	if c.QueriesFailed != 2 || c.SpeedUp != 0 {
		t.Errorf("got %+v", c)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

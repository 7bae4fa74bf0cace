package attack

import (
	"errors"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	ok := func(n int) *Answers {
		a := &Answers{}
		for i := range n {
			a.add(time.Duration(n-i)*time.Millisecond, nil)
		}
		return a
	}
	attacked := ok(2)
	attacked.Refused, attacked.Failed, attacked.Err = 3, 1, errors.New("no route")
	got := Report([]*Result{{
		Side: "Holdfast", Victims: []VictimResult{{Name: "node", Before: ok(101), During: attacked}},
		Ends: group([]end{{504, time.Minute}, {429, 2 * time.Millisecond}, {429, time.Millisecond}, {0, time.Second}}),
	}})
	want := `| | Holdfast |
|---|---|
| node, before | 101 succeeded, p50 51.0 ms, p99 100.0 ms, longest 101.0 ms |
| node, during the attack | 2 succeeded, **3 refused (429)**, **1 failed** (no route), p50 1.0 ms, p99 1.0 ms, longest 2.0 ms |
| ends of the slow bodies | 1 without an answer after 1.0 s to 1.0 s; 2 with 429 (Too Many Requests) after 1.0 ms to 2.0 ms; ` +
		"1 with 504 (Gateway Timeout) after 60.0 s to 60.0 s |\n"
	if got != want {
		t.Errorf("report\n%s\nwant\n%s", got, want)
	}
}

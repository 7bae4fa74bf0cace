package webhook_test

import (
	"bytes"
	"crypto/tls"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// TestBundle checks that an authority is accepted for an hour after it was replaced.
func TestBundle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority := func(at time.Time) []byte {
		keys, err := secret.Complete(nil, []string{"guard"}, at)
		if err != nil {
			t.Fatal(err)
		}
		return keys["ca.crt"]
	}
	first, second, expired := authority(now), authority(now), authority(now.Add(-11*365*day))
	both := append(bytes.Clone(second), first...)
	var accepted webhook.Authorities
	for i, test := range []struct {
		current, accepted, want []byte
		after                   time.Duration
	}{
		{current: first, want: first},
		{current: first, accepted: first, want: first},
		{current: first, accepted: append(bytes.Clone(first), expired...), want: first},
		{current: second, accepted: first, want: both, after: time.Minute},
		{current: second, accepted: both, want: both, after: 2 * time.Minute},
		{current: second, accepted: both, want: both, after: 50 * time.Minute},
		{current: second, accepted: both, want: second, after: 62 * time.Minute},
		{current: second, accepted: second, want: second, after: 63 * time.Minute},
		{current: second, accepted: []byte("?"), want: second, after: 64 * time.Minute},
	} {
		if got := accepted.Bundle(test.current, test.accepted, now.Add(test.after)); !bytes.Equal(got, test.want) {
			t.Errorf("step %d: %d bytes, want %d", i, len(got), len(test.want))
		}
	}
}

// TestAccepts checks which serving certificates a bundle accepts.
func TestAccepts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var bundles [][]byte
	var pairs []*tls.Certificate
	for range 2 {
		keys, err := secret.Complete(nil, []string{"guard"}, now)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(keys["tls.crt"], keys["tls.key"])
		if err != nil {
			t.Fatal(err)
		}
		bundles, pairs = append(bundles, keys["ca.crt"]), append(pairs, &pair)
	}
	both := append(bytes.Clone(bundles[0]), bundles[1]...)
	for i := range 2 {
		if !webhook.Accepts(bundles[i], pairs[i], now) || !webhook.Accepts(both, pairs[i], now) {
			t.Errorf("certificate %d is not accepted", i)
		}
		if webhook.Accepts(bundles[1-i], pairs[i], now) || webhook.Accepts(nil, pairs[i], now) ||
			webhook.Accepts(both, pairs[i], now.Add(400*day)) {
			t.Errorf("certificate %d is accepted", i)
		}
	}
}

package webhook_test

import (
	"net"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

// TestListen checks that a second address that cannot be used leaves the first one free.
func TestListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for name, test := range map[string]struct{ reviews, health, want string }{
		"both":             {reviews: "127.0.0.1:0", health: "127.0.0.1:0"},
		"no health":        {reviews: "127.0.0.1:0"},
		"reviews are used": {reviews: taken.Addr().String(), want: "--webhook-address: "},
		"health is used":   {reviews: "127.0.0.1:0", health: taken.Addr().String(), want: "--health-address: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var addresses webhook.Addresses
			flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
			addresses.AddFlags(flags)
			if err := flags.Parse([]string{"--webhook-address=" + test.reviews, "--health-address=" + test.health}); err != nil {
				t.Fatal(err)
			}
			reviews, health, err := addresses.Listen()
			if test.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.want) || reviews != nil || health != nil {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || (health == nil) != (test.health == "") {
				t.Fatalf("%v, %v", health, err)
			}
			_ = reviews.Close()
			if health != nil {
				_ = health.Close()
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "https://10.0.0.7:9443": true, "https://guard/path": true, "http://guard": false, "https://": false,
		"https://user@guard": false, "https://guard?a=b": false, "https://guard#a": false, "%": false,
	} {
		got, err := webhook.ParseURL(text)
		if (err == nil) != ok || (got == nil) == (ok && text != "") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/spf13/pflag"
)

// Addresses are the addresses of a command that serves a webhook.
type Addresses struct{ reviews, health string }

// AddFlags adds the flags of the addresses.
func (a *Addresses) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.reviews, "webhook-address", ":9443", "address to answer the API server at, over TLS; port 0 picks a free one")
	flags.StringVar(&a.health, "health-address", "127.0.0.1:8081", "address of /healthz, /readyz and /metrics; empty is none")
}

// Listen listens at the addresses of the flags. health is nil if there is no address for it.
func (a *Addresses) Listen() (reviews, health net.Listener, err error) {
	if reviews, err = net.Listen("tcp", a.reviews); err != nil {
		return nil, nil, fmt.Errorf("--webhook-address: %w", err)
	}
	if a.health == "" {
		return reviews, nil, nil
	}
	if health, err = net.Listen("tcp", a.health); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--health-address: %w", err), reviews.Close())
	}
	return reviews, health, nil
}

// ParseURL parses the flag --webhook-url, the URL at which the API server reaches a webhook outside of the cluster. It returns
// nil for an empty text.
func ParseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	address, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--webhook-url: %w", err)
	}
	// Kubernetes has these requirements for the URL of a webhook.
	if address.Scheme != "https" || address.Hostname() == "" || address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return nil, fmt.Errorf("--webhook-url %q: must be https://HOST[:PORT][/PATH]", text)
	}
	return address, nil
}

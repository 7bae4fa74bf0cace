package repo

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// maxRedirects is the number of redirects that a request follows, as in net/http.
const maxRedirects = 10

// CheckLink returns an error if a document at one URL must not lead to another URL: a
// document that came over https leads only to https. Anyone between the client and the other
// server could replace what comes over http. Locations on disk may lead anywhere.
func CheckLink(from, to string) error {
	source, err := url.Parse(from)
	if err != nil || source.Scheme != "https" {
		return nil //nolint:nilerr // a path on disk need not be a URL
	}
	target, err := url.Parse(to)
	if err != nil {
		return err
	}
	if target.Scheme == "http" {
		return fmt.Errorf("%s leads to %s: a package or an index that comes over https never leads to http",
			source.Redacted(), target.Redacted())
	}
	return nil
}

// secured returns the HTTP client with a check of every redirect.
func (c Client) secured() *http.Client {
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	client, follow := *c.HTTP, c.HTTP.CheckRedirect
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if err := CheckLink(via[len(via)-1].URL.String(), next.URL.String()); err != nil {
			return err
		}
		if follow != nil {
			return follow(next, via)
		}
		if len(via) >= maxRedirects {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &client
}

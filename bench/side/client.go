package side

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"time"
)

// User is the identity in the certificate of a client.
type User struct {
	Name   string
	Groups []string
}

// Client sends requests of one user to one server, over connections of its own.
type Client struct {
	// URL is the address of the server.
	URL string
	// HTTP authenticates as the user.
	HTTP *http.Client
}

// Client returns a client with a new certificate.
func (s *Server) Client(user User) (*Client, error) {
	template := newTemplate(pkix.Name{CommonName: user.Name, Organization: user.Groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	pair, err := s.authority.issue(template)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", user.Name, err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.authority.cert)
	return &Client{URL: s.url, HTTP: &http.Client{Transport: &http.Transport{
		TLSClientConfig:    &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
		DisableCompression: true, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
	}}}, nil
}

// Request is one request.
type Request struct {
	Method, Path string
	// ContentType is the media type of Body. It is empty for JSON.
	ContentType string
	Body        []byte
	// As is the user whom the client impersonates. It is empty for the user of the client.
	As string
}

// StatusError is the error of Do for an answer other than 2xx.
type StatusError struct {
	Request Request
	Code    int
	Text    string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d: %.300s", e.Request.Method, e.Request.Path, e.Code, e.Text)
}

// Do sends a request and returns the body of the answer.
func (c *Client) Do(ctx context.Context, r Request) ([]byte, error) {
	answer, err := c.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
}

// Drain sends a request, reads the body of the answer, keeps nothing of it, and returns its length.
func (c *Client) Drain(ctx context.Context, r Request) (int64, error) {
	answer, err := c.Open(ctx, r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	return io.Copy(io.Discard, answer.Body)
}

// Open sends a request and returns the answer, whose body the caller reads and closes. An answer other than 2xx is a StatusError.
func (c *Client) Open(ctx context.Context, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, c.URL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if r.ContentType == "" {
		r.ContentType = "application/json"
	}
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.As != "" {
		req.Header.Set("Impersonate-User", r.As)
	}
	answer, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return nil, &StatusError{Request: r, Code: answer.StatusCode, Text: string(text)}
}

// Await sends a request until it succeeds, for at most two minutes. A server applies some changes, such as permissions and
// definitions, a moment after it has stored them, and needs longer for very many.
func (c *Client) Await(ctx context.Context, r Request) error {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.Do(ctx, r)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// Close closes the connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

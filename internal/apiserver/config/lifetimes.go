package config

import (
	"errors"
	"fmt"
	"time"
)

const (
	// year is the default of both lifetimes.
	year = 365 * 24 * time.Hour
	// The bounds of kube-apiserver for the longest lifetime of tokens.
	lowTokenLife  = time.Hour
	highTokenLife = (1 << 32) * time.Second
	// lowCertificateLife is the shortest lifetime that a CertificateSigningRequest can name.
	lowCertificateLife = 10 * time.Minute
)

// checkLifetimes sets the defaults of the longest lifetimes and validates them.
func (c *Server) checkLifetimes() error {
	if c.MaxTokenLife == 0 {
		c.MaxTokenLife = year
	}
	if c.MaxTokenLife < lowTokenLife || c.MaxTokenLife > highTokenLife {
		return errors.New("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")
	}
	if c.MaxCertificateLife == 0 {
		c.MaxCertificateLife = year
	}
	if c.MaxCertificateLife < lowCertificateLife || c.MaxCertificateLife > year {
		return fmt.Errorf("the cluster-signing-duration must be between %s and %s", lowCertificateLife, year)
	}
	return nil
}

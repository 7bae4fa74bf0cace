package doctor

import (
	"fmt"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
)

const (
	// A certificate ends soon if less than expiresSoon is left, and less than soonShare of its life. The second bound is for certificates
	// of hours. The server and the agent replace theirs earlier.
	expiresSoon = 30 * 24 * time.Hour
	soonShare   = 0.15
)

// certificates judges the files of a server.
func certificates(files []maintenance.Certificate, now time.Time) []check {
	var found []check
	for _, file := range files {
		if file.Error != "" {
			found = append(found, check{"certificates", failure, file.Error, "restore the file from a backup"})
			continue
		}
		if file.NotBefore.After(now) {
			found = append(found, check{
				"certificates", failure, fmt.Sprintf("pki/%s begins at %s", file.File, file.NotBefore.UTC().Format(time.RFC3339)),
				"set the clock of the server: it was ahead when the certificate was issued, or it is behind now",
			})
		}
		if c, bad := certificate("pki/"+file.File, file, now); bad {
			c.Name, c.Next = "certificates", "restart the server, which issues new certificates; for ca.crt, the authority, see docs/serve.md"
			found = append(found, c)
		}
	}
	return orGood("certificates", fmt.Sprintf("%d files in pki, none ends within 30 days", len(files)), found)
}

// certificate judges how long a certificate is still valid. The caller adds the name of the check, and what to do next.
func certificate(what string, c maintenance.Certificate, now time.Time) (check, bool) {
	left, life := c.NotAfter.Sub(now), c.NotAfter.Sub(c.NotBefore)
	switch {
	case left <= 0:
		return check{State: failure, Message: fmt.Sprintf("%s has ended %s ago", what, span(-left))}, true
	case left < expiresSoon && float64(left) < soonShare*float64(life):
		return check{State: warning, Message: fmt.Sprintf("%s ends in %s", what, span(left))}, true
	}
	return check{}, false
}

// span returns a duration for people to read.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

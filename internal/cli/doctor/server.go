package doctor

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
)

const (
	// maxSkew is how much the clocks of server and client may differ.
	maxSkew = 5 * time.Second
	// answerTimeout is how long a check waits for an answer.
	answerTimeout = 10 * time.Second
)

// server is a running server.
type server struct {
	config  *rest.Config
	client  kubernetes.Interface
	http    *http.Client
	version string
}

func connect(config *rest.Config, version string) (*server, error) {
	// Without a limit of requests: the checks send many short ones.
	config.QPS, config.Timeout = -1, answerTimeout
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	return &server{config: config, client: client, http: transport, version: version}, err
}

// examine runs all checks of a running server. If the server does not answer, there is nothing else to
// check.
func (s *server) examine(ctx context.Context) (report, error) {
	first := s.reach(ctx)
	if first[0].State == failure {
		return first, errUnreachable
	}
	all := append(report{}, first...)
	checks := []func(context.Context) []check{
		s.ready, s.ownCertificate, s.data, s.leader, s.definitions, s.ruleFiles, s.ruleVerbs, s.aggregated, s.requests, s.nodes, s.plans,
	}
	for _, run := range checks {
		all = append(all, run(ctx)...)
	}
	return all, nil
}

// reach asks for the version of the server. The answer also has the clock and the certificate.
func (s *server) reach(ctx context.Context) []check {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.config.Host, "/")+"/version", http.NoBody)
	if err != nil {
		return []check{{"server", failure, err.Error(), "check the address in your kubeconfig"}}
	}
	sent := time.Now()
	answer, err := s.http.Do(request)
	if err != nil {
		return []check{{
			"server", failure, err.Error(),
			"start the server, or examine its data on its machine: holdfast doctor --data-dir DIR",
		}}
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusUnauthorized {
		if own := s.ownCertificate(ctx); len(own) > 0 && own[0].State == failure {
			return own
		}
		return []check{{
			"server", failure, s.config.Host + " rejects the credential in your kubeconfig",
			"it is expired, revoked or of another server: use admin.kubeconfig in the data directory of the server, or let an " +
				"administrator make a new one with \"holdfast kubeconfig\"",
		}}
	}
	var version struct{ GitVersion string }
	if err := json.NewDecoder(answer.Body).Decode(&version); err != nil {
		return []check{{"server", failure, fmt.Sprintf("%s answers no version: %v", s.config.Host, err), "check the address in your kubeconfig"}}
	}
	all := []check{{Name: "server", State: good, Message: fmt.Sprintf("%s serves Kubernetes %s", s.config.Host, version.GitVersion)}}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		all = append(all, clock(date, sent, time.Now()))
	}
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		if c, bad := certificate("the certificate of the server", validity(answer.TLS.PeerCertificates[0]), time.Now()); bad {
			c.Name, c.Next = "serving", "restart the server, or replace the file of --tls-cert-file"
			all = append(all, c)
		}
	}
	return all
}

// clock compares the date of an answer with the time of this machine. The date has no fractions of a
// second.
func clock(date, sent, received time.Time) check {
	skew := time.Duration(0)
	if early := sent.Sub(date.Add(time.Second)); early > 0 {
		skew = -early
	} else if late := date.Sub(received); late > 0 {
		skew = late
	}
	if skew.Abs() > maxSkew {
		return check{
			"clock", warning, fmt.Sprintf("the clock of the server differs by %s from the clock of this machine", skew.Round(time.Second)),
			"set both clocks, for example with NTP: certificates, tokens and leases depend on them",
		}
	}
	return check{Name: "clock", State: good, Message: "server and this machine have the same time"}
}

// ready asks for the health checks of the server.
func (s *server) ready(ctx context.Context) []check {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").Do(ctx).Raw()
	if err == nil {
		return []check{{Name: "health", State: good, Message: "the server is ready"}}
	}
	var found []check
	for line := range strings.Lines(string(text)) {
		if name, failed := strings.CutPrefix(line, "[-]"); failed {
			name, _, _ = strings.Cut(name, " ")
			found = append(found, check{"health", failure, "the check " + name + " fails", "look at the log of the server, and at its metrics"})
		}
	}
	if len(found) == 0 {
		found = []check{{"health", failure, err.Error(), "look at the log of the server"}}
	}
	return found
}

// ownCertificate judges the client certificate of the kubeconfig.
func (s *server) ownCertificate(context.Context) []check {
	content := s.config.CertData
	if s.config.CertFile != "" {
		var err error
		if content, err = os.ReadFile(s.config.CertFile); err != nil {
			return []check{{"kubeconfig", failure, err.Error(), "get another kubeconfig"}}
		}
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return []check{{"kubeconfig", failure, err.Error(), "get another kubeconfig"}}
	}
	if c, bad := certificate("the client certificate", validity(leaf), time.Now()); bad {
		c.Name, c.Next = "kubeconfig", "get another kubeconfig, for example with holdfast kubeconfig; a restart of the server renews that of the administrator"
		return []check{c}
	}
	return []check{{Name: "kubeconfig", State: good, Message: "the client certificate ends in " + span(time.Until(leaf.NotAfter))}}
}

// validity returns when a certificate begins and ends.
func validity(c *x509.Certificate) maintenance.Certificate {
	return maintenance.Certificate{NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// data asks the server about its certificates, disk and etcd.
func (s *server) data(ctx context.Context) []check {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath(maintenance.DiagnosisPath).Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err):
		return []check{{"data", skipped, "only an administrator may see disk, etcd and certificates of the server", ""}}
	case apierrors.IsNotFound(err):
		return []check{{"data", skipped, "the server is not Holdfast, or an older version", ""}}
	case err != nil:
		return []check{{"data", failure, err.Error(), "look at the log of the server"}}
	}
	var diagnosis maintenance.Diagnosis
	if err := json.Unmarshal(text, &diagnosis); err != nil {
		return []check{{"data", failure, err.Error(), "use this program in the version of the server"}}
	}
	versions := check{Name: "version", State: good, Message: "server and this program are " + s.version}
	if diagnosis.Version != s.version {
		versions = check{
			"version", warning, fmt.Sprintf("the server is %q, this program is %q", diagnosis.Version, s.version),
			"use the same release for both",
		}
	}
	return append([]check{versions}, examineDiagnosis(diagnosis, time.Now())...)
}

// leader checks that a server holds the Lease of the controllers, and renews it.
func (s *server) leader(ctx context.Context) []check {
	const start = "start a server that runs controllers (--controllers), and look at its log"
	lease, err := s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "holdfast-controllers", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return []check{{"controllers", skipped, "no server runs controllers", ""}}
	case err != nil:
		return []check{unread("controllers", err)}
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil:
		return []check{{"controllers", failure, "no server is the leader of the controllers", start}}
	}
	limit := 2 * time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	if age := time.Since(lease.Spec.RenewTime.Time); age > limit {
		return []check{{
			"controllers", failure,
			fmt.Sprintf("the leader %s has not renewed its Lease for %s", *lease.Spec.HolderIdentity, age.Round(time.Second)), start,
		}}
	}
	return []check{{Name: "controllers", State: good, Message: *lease.Spec.HolderIdentity + " is the leader"}}
}

// unread returns the result of a check that could not read something.
func unread(name string, err error) check {
	if apierrors.IsForbidden(err) {
		return check{name, skipped, "you may not read this", ""}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", answerTimeout)
	}
	return check{name, failure, err.Error(), "look at the log of the server"}
}

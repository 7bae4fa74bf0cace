package upgrade_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	core  = "/api/v1/namespaces/kept/"
	kudo  = "/apis/kudo.dev/v1beta1/namespaces/kept/"
	boats = "/apis/upgrade.example.com/v1/namespaces/kept/boats"
)

// attempts are writes that every release refuses.
var attempts = map[string]struct {
	path, body, command string
	create              bool
	code                int32
	message             string
}{
	"a marked field": {path: boats + "/ark", body: `{spec: {hull: steel}}`, code: 400, message: "spec.hull"},
	"a marked field by another version": {
		path: strings.Replace(boats, "v1", "v2", 1) + "/ark", body: `{spec: {hull: steel}}`, code: 400, message: "spec.hull",
	},
	"a marked field of a server-side apply": {path: boats + "/raft", body: `{spec: {hull: steel}}`, code: 400, message: "spec.hull"},
	"the keys of a marked map":              {path: boats + "/ark", body: `{spec: {decks: {lower: {doors: 2}}}}`, code: 400, message: "spec.decks"},
	"a value outside of the schema":         {path: boats + "/ark", body: `{spec: {crew: 0}}`, code: 422, message: "spec.crew"},
	"a field of Kubernetes":                 {path: core + "secrets/keys", body: `{type: kubernetes.io/tls}`, code: 422, message: "immutable"},
	"an immutable ConfigMap":                {path: core + "configmaps/sealed", body: `{data: {a: changed}}`, code: 422, message: "immutable"},
	"an immutable Secret":                   {path: core + "secrets/sealed", body: `{immutable: false}`, code: 422, message: "immutable"},
	"an edit of a field that apply owns": {
		path: core + "configmaps/settings", body: `{data: {a: changed}}`, command: "edit", code: 422, message: "apply",
	},
	"an immutable parameter": {path: kudo + "instances/tok", body: `{spec: {parameters: {TOKENS: "9"}}}`, code: 422, message: "TOKENS"},
	"an OperatorVersion":     {path: kudo + "operatorversions/tok-0.1.0", body: `{spec: {version: 0.9.0}}`, code: 400, message: "spec"},
	"a quota": {
		path: core + "services", create: true, code: 403, message: "exceeded quota",
		body: `{apiVersion: v1, kind: Service, metadata: {name: more}, spec: {ports: [{port: 80}]}}`,
	},
	"an allocated address": {
		path: "/api/v1/namespaces/default/services", create: true, code: 422, message: "10.96.5.5",
		body: `{apiVersion: v1, kind: Service, metadata: {name: more}, spec: {clusterIP: 10.96.5.5, ports: [{port: 80}]}}`,
	},
	"a validating policy": {
		path: "/api/v1/namespaces/default/configmaps", create: true, code: 422, message: "no forbidden names",
		body: `{apiVersion: v1, kind: ConfigMap, metadata: {name: forbidden}}`,
	},
}

// protect checks that the server refuses every attempt.
func (s *server) protect(t *testing.T) {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	for name, attempt := range attempts {
		body := yamltest.JSON(t, attempt.body)
		// The server reads policies, quotas and its own allocations after its start.
		waittest.Until(t, "the server refuses: "+name, func() error {
			request := client.Discovery().RESTClient().Patch("application/merge-patch+json").AbsPath(attempt.path)
			if attempt.create {
				request = client.Discovery().RESTClient().Post().AbsPath(attempt.path).
					SetHeader("Content-Type", "application/json").Param("dryRun", "All")
			}
			if attempt.command != "" {
				request = request.SetHeader("Kubectl-Command", "kubectl "+attempt.command).Param("fieldManager", "kubectl-"+attempt.command)
			}
			answered := request.Body(body).Do(t.Context()).Error()
			var status apierrors.APIStatus
			if !errors.As(answered, &status) || status.Status().Code != attempt.code || !strings.Contains(answered.Error(), attempt.message) {
				return errors.New(name + " was answered with: " + textOf(answered))
			}
			return nil
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

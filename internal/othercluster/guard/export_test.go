package guard

import (
	"context"
	"maps"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/policy"
)

// Problems returns why rules in the annotation of a definition, as a server returns it, have no effect, and the
// resources with the rules that have one.
func Problems(object map[string]any) (problems []string, table map[string][]string, err error) {
	crd, err := decodeDefinition(object)
	if err != nil {
		return nil, nil, err
	}
	t := policy.NewTable()
	problems = policy.Compiler{}.AddAnnotated(t, crd)
	table = map[string][]string{}
	for name, r := range maps.All(t.Resources) {
		for _, from := range r.Sources {
			rules, isDefined := from.Rules.(policy.DefinedRules)
			if !isDefined {
				continue
			}
			marks, err := rules.CRD.Marks()
			if err != nil {
				return nil, nil, err
			}
			for _, m := range marks {
				table[name.String()] = append(table[name.String()], m.String())
			}
		}
	}
	return problems, table, nil
}

// LabelsOf returns the labels of a namespace for a replica that knows no namespaces yet.
func LabelsOf(config *rest.Config, namespace string) (map[string]string, error) {
	server, err := connection.Open(config, connection.Options{UserAgent: Name})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	return newTracker(server, policy.Compiler{}).labelsOf(namespace)
}

// Replica is a replica of the guard before its watches have begun.
type Replica struct{ tracker *tracker }

// NewReplica returns a replica with the rights of a client config.
func NewReplica(t *testing.T, config *rest.Config) Replica {
	t.Helper()
	server, err := connection.Open(config, connection.Options{UserAgent: Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return Replica{newTracker(server, policy.Compiler{})}
}

// Exists reports whether a namespace exists.
func (r Replica) Exists(ctx context.Context, namespace string) bool {
	return r.tracker.exists(ctx, holder{namespacesResource, namespace})
}

// Stays reports whether a definition is stored and not being deleted.
func (r Replica) Stays(ctx context.Context, definition string) bool {
	return r.tracker.stays(ctx, definition)
}

// Tokens are the tokens of a replica.
type Tokens struct{ *tokens }

// NewTokens returns tokens that read the one of the webhook configuration with a function.
func NewTokens(read func(context.Context) (string, error)) Tokens { return Tokens{newTokens(read)} }

// Keep reads the token until ctx ends.
func (t Tokens) Keep(ctx context.Context) { t.keep(ctx) }

// Issue returns the token of a leader.
func (t Tokens) Issue() string { return t.issue() }

// Accepts reports whether a request with a token comes from an API server.
func (t Tokens) Accepts(ctx context.Context, token string) bool { return t.accepts(ctx, token) }

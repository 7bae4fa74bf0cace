package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/othercluster/admissionreview"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// DefinitionsWebhook is the name of the webhook for definitions with the annotation.
	DefinitionsWebhook = "definitions.guard.holdfast.dev"
	// DefinitionsPath is its path, before the token.
	DefinitionsPath = "/definitions"
	// definitionsSeconds bounds one review. It is longer than an API server needs to learn of a changed configuration.
	definitionsSeconds = 10
	// noticeTime is the time for which a review waits after the configuration has the rules: other API servers learn of
	// them a moment later.
	noticeTime = 500 * time.Millisecond
	// earlyLifetime is the time after which the leader removes an early webhook whose definition was not stored.
	earlyLifetime = time.Minute
	// earlyPrefix begins the names of early webhooks.
	earlyPrefix = "immutable-"
)

// earlyGuard answers reviews of definitions that have the annotation, or get another one, before they are stored. It lets a definition
// through when the webhook configuration has its resource, so no object of the kind is written unguarded.
//
// The leader does not know the definition yet, and another replica may have the review. So each replica can add an early webhook: one
// for a single definition, with a field manager of its own, which the leader removes when its own webhook has the resource.
type earlyGuard struct {
	live     *observed
	compiler policy.Compiler
}

// answer decides about one review. The warnings name the rules without effect.
func (g earlyGuard) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	obj, err := admissionreview.Object(request.Object)
	if err != nil {
		return admissionreview.Denied(apierrors.NewBadRequest(fmt.Sprintf("review: request.object: %v", err)))
	}
	crd, err := decodeDefinition(obj.Object)
	if err != nil {
		return admissionreview.Denied(apierrors.NewBadRequest(err.Error()))
	}
	table := policy.NewTable()
	for _, problem := range g.compiler.AddAnnotated(table, crd) {
		allowed.Warnings = append(allowed.Warnings, "without effect: "+problem)
	}
	if isDryRun(request) {
		return allowed
	}
	ctx, cancel := context.WithTimeout(ctx, (definitionsSeconds-1)*time.Second)
	defer cancel()
	c := covering{live: g.live, isNew: request.Operation == admissionv1.Create}
	if err := c.all(ctx, crd.Name, table); err != nil {
		return admissionreview.Denied(apierrors.NewInternalError(
			fmt.Errorf("the guard cannot guard objects of %s yet, so their definition is not stored: %w", crd.Name, err)))
	}
	return allowed
}

// ensure returns when the configuration is covered, and the API server knows it. If it is not covered, ensure calls add, and again if what was
// added has gone before the API server knew it.
func (o *observed) ensure(ctx context.Context, covered func(*configuration) bool, add func(*configuration) error) error {
	added, noticed := false, false
	for {
		found, _, next := o.latest()
		if covered(found) {
			if !added || noticed {
				return nil
			}
			if !waitNotice(ctx) {
				return ctx.Err()
			}
			noticed = true
			continue // the leader may have removed it meanwhile
		}
		if !added || noticed {
			if err := add(found); err != nil {
				return err
			}
			added, noticed = true, false
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the webhook configuration does not have it: %w", ctx.Err())
		case <-next:
		}
	}
}

// waitNotice waits until the API servers know the configuration. It returns false if ctx ends before.
func waitNotice(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(noticeTime):
		return true
	}
}

// early is what an early webhook has besides its rules.
type early struct {
	// path is that of its reviews, before the token.
	path string
	// annotations are added to the configuration.
	annotations map[string]string
}

// addEarly adds an early webhook to the configuration. Its address is that of another webhook, with another path.
func (o *observed) addEarly(
	ctx context.Context, in *configuration, webhook admissionregistrationv1.ValidatingWebhook, with early,
) error {
	if len(in.Webhooks) == 0 {
		return errors.New("the webhook configuration has no webhooks")
	}
	client := in.Webhooks[0].ClientConfig.DeepCopy()
	for _, path := range []*string{client.URL, pathOf(client.Service)} {
		if path != nil { // it ends with the path of the webhook, which is one segment, and the token
			token := strings.LastIndexByte(*path, '/')
			*path = (*path)[:strings.LastIndexByte((*path)[:token], '/')] + with.path + (*path)[token:]
		}
	}
	webhook.ClientConfig = *client
	out := emptyConfiguration()
	out.Annotations, out.UID = with.annotations, in.UID // with the UID, the write does not create a configuration that was deleted
	out.Webhooks = append(out.Webhooks, webhook)
	_, err := applyConfiguration(ctx, o.client, out, earlyManager(webhook.Name))
	return err
}

func pathOf(service *admissionregistrationv1.ServiceReference) *string {
	if service == nil {
		return nil
	}
	return service.Path
}

// suffixOf returns a short text for a name that may be too long for the name of a webhook or an annotation.
func suffixOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// earlyManager returns the field manager of an early webhook.
func earlyManager(webhook string) string { return Name + "-" + webhook }

// isEarly reports whether a replica other than the leader may have added a webhook.
func isEarly(w admissionregistrationv1.ValidatingWebhook) bool {
	return slices.ContainsFunc([]string{earlyPrefix, heldPrefix, keptPrefix}, func(prefix string) bool { return strings.HasPrefix(w.Name, prefix) })
}

// removeEarly removes the early webhooks of definitions whose resources the webhook of the leader has, and those whose
// definition was not stored. It returns the configuration.
func (l *leader) removeEarly(ctx context.Context, in *configuration) (*configuration, error) {
	times := map[string]time.Time{}
	for _, entry := range in.ManagedFields {
		if entry.Time != nil {
			times[entry.Manager] = entry.Time.Time
		}
	}
	own := in.DeepCopy()
	own.Webhooks = slices.DeleteFunc(own.Webhooks, isEarly)
	out := in
	for _, early := range slices.DeleteFunc(slices.Clone(in.Webhooks), func(w admissionregistrationv1.ValidatingWebhook) bool { return !isEarly(w) }) {
		manager := earlyManager(early.Name)
		covered := coversRules(own, early.Rules)
		if strings.HasPrefix(early.Name, heldPrefix) {
			covered = holdersIn(own)[early.Name] // the leader has written all holders
		} else if covered {
			covered = l.hasStored(ctx, early)
		}
		if !covered && time.Since(times[manager]) < earlyLifetime {
			continue
		}
		none := emptyConfiguration()
		none.UID = in.UID
		var err error
		if out, err = applyConfiguration(ctx, l.server.Typed, none, manager); err != nil {
			return in, fmt.Errorf("webhook %s: %w", early.Name, err)
		}
	}
	return out, nil
}

// hasStored reports whether the definition of an early webhook is stored and stays, and the leader knows its rules. Otherwise the leader's
// webhook may be there because of a definition of the same name that is deleted, or about to go.
func (l *leader) hasStored(ctx context.Context, early admissionregistrationv1.ValidatingWebhook) bool {
	latest, _ := l.rules.latest()
	for _, rule := range early.Rules {
		resource, _, _ := strings.Cut(rule.Resources[0], "/")
		name := schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}
		known := latest.Resources[name] != nil || len(latest.Kept[name]) > 0
		if !known || !l.rules.stays(ctx, name.String()) {
			return false
		}
	}
	return true
}

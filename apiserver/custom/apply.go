package custom

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/requestbody"
)

// isApply reports whether a request is a server-side apply.
func isApply(req *http.Request) bool {
	return types.PatchType(requestbody.MediaType(req)) == types.ApplyYAMLPatchType
}

// pruneApplied prunes the configuration in the body of a server-side apply, before it
// is merged. Without this a manager would own fields that the schema does not have.
// Defaults are not added: a manager does not own the fields that it leaves out. Unless
// readsWhole, pruneApplied replaces the body by its outline and returns the configuration.
// Otherwise it leaves the whole configuration in the body and returns nil.
func (v *version) pruneApplied(req *http.Request) (map[string]any, error) {
	body, err := requestbody.Read(req, v.resource.server.config.MaxBody)
	if err != nil {
		return nil, err
	}
	directive := req.URL.Query().Get("fieldValidation")
	applied, ok := v.decodeValidJSON(body)
	if !ok {
		if applied, err = decodeApplied(req, directive, body); err != nil {
			return nil, err
		}
	}
	name := ""
	if meta, ok := applied["metadata"].(map[string]any); ok {
		name, _ = meta["name"].(string)
	}
	if err := v.wrongTypes(name, v.compiled.Skeleton.Check(applied)); err != nil {
		return nil, err
	}
	if v.compiled.Pruned && applied != nil {
		unknown := v.compiled.Skeleton.PrunePaths(applied)
		if directive == metav1.FieldValidationStrict && len(unknown) > 0 {
			return nil, v.undeclared(req, unknown)
		}
		if directive != metav1.FieldValidationIgnore {
			warnOfUnknown(req, unknown)
		}
	}
	sent := applied
	if readsWhole(req) {
		applied = nil
	} else {
		sent = outline(applied)
	}
	var pruned bytes.Buffer
	if err := v.resource.server.format.Encode(&pruned, sent); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	requestbody.Replace(req, pruned.Bytes())
	return applied, nil
}

// readsWhole reports whether the handler of an apply needs the whole configuration in the body
// of the request. The handler decodes the body as YAML, twice, which costs more than the
// merge. For most requests it needs only the kind and the metadata: applyTypes merges the
// configuration that pruneApplied decoded. The audit log may hold the body, and for the
// manager kubectl the library writes the configuration into an annotation.
func readsWhole(req *http.Request) bool {
	audited := audit.AuditContextFrom(req.Context())
	return req.URL.Query().Get("fieldManager") == "kubectl" ||
		audited.Enabled() && !audited.GetEventLevel().Less(auditinternal.LevelRequest)
}

// outline returns a copy of a configuration that has only the kind and the metadata.
func outline(applied map[string]any) map[string]any {
	if applied == nil {
		return nil
	}
	out := map[string]any{}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		if value, ok := applied[key]; ok {
			out[key] = value
		}
	}
	return out
}

// decodeValidJSON decodes a configuration that is JSON without duplicate keys. That is
// what Go clients send. For everything else it returns false.
func (v *version) decodeValidJSON(body []byte) (map[string]any, bool) {
	if !bytes.HasPrefix(body, []byte("{")) {
		return nil, false
	}
	applied, duplicates, err := v.resource.server.format.DecodeStrict(body)
	return applied, err == nil && len(duplicates) == 0
}

// decodeApplied decodes YAML. Depending on directive, the fieldValidation of the
// request, it ignores duplicate keys, adds a warning or returns an error. Integers stay
// exact.
func decodeApplied(req *http.Request, directive string, body []byte) (map[string]any, error) {
	data, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	var applied map[string]any
	if err := utiljson.Unmarshal(data, &applied); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if directive == metav1.FieldValidationIgnore {
		return applied, nil
	}
	if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
		if directive == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		// A warning must be one line, because it is sent in a header.
		warning.AddWarning(req.Context(), "", strings.Join(strings.Fields(err.Error()), " "))
	}
	return applied, nil
}

// undeclared returns the error for fields that the schema does not have, in the words of
// Kubernetes' server-side apply. Kubernetes sends it with status 500, although the request is
// at fault.
func (v *version) undeclared(req *http.Request, paths []string) error {
	name := ""
	if info, ok := genericapirequest.RequestInfoFrom(req.Context()); ok {
		name = strings.TrimPrefix(info.Namespace+"/"+info.Name, "/")
	}
	var errs typed.ValidationErrors
	for _, path := range paths {
		errs = append(errs, typed.ValidationError{Path: "." + path, ErrorMessage: "field not declared in schema"})
	}
	return apierrors.NewBadRequest(fmt.Sprintf("failed to create typed patch object (%s; %s): %v", name, v.groupVersionKind(), errs))
}

// warnOfUnknown adds a warning for each field that the schema does not have.
func warnOfUnknown(req *http.Request, paths []string) {
	for _, path := range paths {
		warning.AddWarning(req.Context(), "", fmt.Sprintf("unknown field %q", path))
	}
}

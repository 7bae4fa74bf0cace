package policies

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/common"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/internal/policy"
)

// filesInterval is the interval at which the files are read again.
const filesInterval = 2 * time.Second

// files are the policies in a directory.
type files struct {
	dir string
	// models are those of Config.
	models  common.GetOpenAPIDefinitions
	current atomic.Pointer[fileSet]
	// problem is why the files are not in force as they are now, empty if they are.
	problem atomic.Pointer[string]
	// refused is the digest of the last files that were wrong. Only refresh uses it.
	refused string
}

// fileSet are the policies in the files at one time. It never changes.
type fileSet struct {
	// files are the policies, by name.
	files map[string]*filePolicy
	// digest is that of the names and texts of all files.
	digest string
}

// filePolicy is a policy in a file.
type filePolicy struct {
	file   string
	policy *policy.ImmutabilityPolicy
}

// openFiles reads the policies of a directory. It returns an error with file and line if a file is wrong.
func openFiles(config Config) (*files, error) {
	f := &files{dir: config.Dir, models: config.Models}
	texts, err := readFiles(f.dir)
	if err != nil {
		return nil, fmt.Errorf("rules-dir: %w", err)
	}
	read, err := f.decode(texts)
	if err != nil {
		return nil, fmt.Errorf("rules-dir: %w", err)
	}
	f.current.Store(read)
	f.problem.Store(new(string))
	return f, nil
}

// latest returns the policies that are in force.
func (f *files) latest() *fileSet { return f.current.Load() }

// follow reads the files again until ctx ends, and calls changed after a change. If a file is wrong, the last policies stay in force.
func (f *files) follow(ctx context.Context, changed func()) {
	if f.dir == "" {
		return
	}
	ticker := time.NewTicker(filesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f.refresh(changed)
	}
}

func (f *files) refresh(changed func()) {
	texts, err := readFiles(f.dir)
	if err == nil && texts.digest == f.refused {
		return
	}
	read := f.latest()
	if err == nil && texts.digest != read.digest {
		read, err = f.decode(texts)
	}
	f.refused = ""
	problem := ""
	if err != nil {
		f.refused, problem = texts.digest, err.Error()
	}
	if *f.problem.Swap(&problem) != problem && problem != "" {
		klog.ErrorS(err, "the files of --rules-dir are wrong: their last policies stay in force")
	}
	if err == nil && read != f.latest() {
		f.current.Store(read)
		klog.InfoS("the files of --rules-dir are in force", "policies", len(read.files))
		changed()
	}
}

// fileTexts are the files of a directory that end in .yaml, .yml or .json.
type fileTexts struct {
	names []string
	texts [][]byte
	// digest is that of all names and texts, empty without a directory.
	digest string
}

// readFiles reads the files of a directory.
func readFiles(dir string) (fileTexts, error) {
	var out fileTexts
	if dir == "" {
		return out, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, err
	}
	hash := sha256.New()
	for _, entry := range entries {
		switch filepath.Ext(entry.Name()) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return fileTexts{}, err
		}
		fmt.Fprintf(hash, "%q %q\n", entry.Name(), text)
		out.names, out.texts = append(out.names, entry.Name()), append(out.texts, text)
	}
	out.digest = hex.EncodeToString(hash.Sum(nil))[:16]
	return out, nil
}

// decode returns the policies in the files.
func (f *files) decode(t fileTexts) (*fileSet, error) {
	out := &fileSet{files: map[string]*filePolicy{}, digest: t.digest}
	// The definitions are read later. The status of a policy says what is wrong with conditions for their kinds.
	none := func(schema.GroupResource) *definition.CustomResourceDefinition { return nil }
	builtIn := policy.Compiler{Server: &sources{models: f.models, definition: none, expanded: map[schema.GroupResource]any{}}}
	for i, text := range t.texts {
		for _, document := range manifest.Split(t.names[i], text) {
			if err := out.add(document, builtIn); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// add adds the policies of a document. The compiler checks their conditions.
func (s *fileSet) add(document *manifest.Document, conditions policy.Compiler) error {
	objects, err := document.Objects()
	if wrong := (*manifest.SyntaxError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%s:%d: %s", document.File, wrong.Line, wrong.Detail)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %w", document.File, document.Line, err)
	}
	for _, object := range objects {
		found, err := s.addObject(object)
		if err != nil {
			return err
		}
		errs, err := conditions.ConditionErrors(context.Background(), found)
		if err != nil {
			return fmt.Errorf("%s: %w", document.File, err)
		}
		if len(errs) > 0 {
			return fmt.Errorf("%s:%d: %w", object.File, object.Locate(errs[0].Field).Line, errs[0])
		}
	}
	return nil
}

// addObject adds one policy.
func (s *fileSet) addObject(object manifest.Object) (*policy.ImmutabilityPolicy, error) {
	wrong := func(path, format string, args ...any) (*policy.ImmutabilityPolicy, error) {
		return nil, fmt.Errorf("%s:%d: %s", object.File, object.Locate(path).Line, fmt.Sprintf(format, args...))
	}
	if gv, err := schema.ParseGroupVersion(object.APIVersion); err != nil || gv.Group != policy.Policies().Group || object.Kind != "ImmutabilityPolicy" {
		return wrong("", "%s %s: must be an ImmutabilityPolicy of %s", object.APIVersion, object.Kind, policy.Policies().Group)
	}
	found := &policy.ImmutabilityPolicy{}
	decoder := json.NewDecoder(bytes.NewReader(object.JSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(found); err != nil {
		return wrong("spec", "%v", err)
	}
	if found.Name == "" {
		return wrong("metadata", "metadata.name: required")
	}
	if other := s.files[found.Name]; other != nil {
		return wrong("metadata.name", "%s has a policy %s too", other.file, found.Name)
	}
	for i, resource := range found.Spec.Resources {
		if neverInFiles(schema.ParseGroupResource(resource)) {
			return wrong(fmt.Sprintf("spec.resources[%d]", i), "%s: no policy may guard it", resource)
		}
	}
	if errs := found.Validate(); len(errs) > 0 {
		return wrong(errs[0].Field, "%v", errs[0])
	}
	found.Spec.Mode = cmp.Or(found.Spec.Mode, policy.Enforce)
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	found.Annotations[SourceAnnotation], found.Annotations[FileAnnotation] = sourceFile, object.File
	s.files[found.Name] = &filePolicy{file: object.File, policy: found}
	return found, nil
}

// policies returns the policies, sorted by name.
func (s *fileSet) policies() []*policy.ImmutabilityPolicy {
	var out []*policy.ImmutabilityPolicy
	for _, each := range s.files {
		out = append(out, each.policy)
	}
	slices.SortFunc(out, func(a, b *policy.ImmutabilityPolicy) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// names returns the names of the files, by the name of the policy.
func (s *fileSet) names() map[string]string {
	out := make(map[string]string, len(s.files))
	for name, each := range s.files {
		out[name] = each.file
	}
	return out
}

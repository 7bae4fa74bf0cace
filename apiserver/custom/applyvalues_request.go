package custom

import "context"

// valueApply is a request to apply a configuration.
type valueApply struct {
	valueWrite
	// applied is the configuration. It is nil if the library must merge it, see readsWhole.
	applied map[string]any
}

// updated returns the stored object with the applied values, after mutating admission. It returns nil if the library must merge
// the configuration.
func (a valueApply) updated(ctx context.Context, old *object) (*object, error) {
	if a.applied == nil || a.scope.Subresource != "" {
		return nil, nil
	}
	merged, ok := a.version.applyValues(old, a.applied, a.options.FieldManager)
	if !ok {
		return nil, nil
	}
	return a.admitted(ctx, merged, old)
}

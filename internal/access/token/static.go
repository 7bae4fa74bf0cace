package token

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
)

// NewStatic returns an authenticator for the tokens in a file, in the format of
// kube-apiserver's --token-auth-file: lines of token,user,uid,"group1,group2". It
// reads the file once. The tokens do not expire and are valid for apiAudiences.
func NewStatic(path string, apiAudiences authenticator.Audiences) (authenticator.Token, error) {
	file, err := tokenfile.NewCSV(path)
	if err != nil {
		return nil, fmt.Errorf("read token file %s: %w", path, err)
	}
	return authenticator.WrapAudienceAgnosticToken(apiAudiences, file), nil
}

package openid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"
)

const (
	// reserved begins the names of the users and groups of the server itself, such as
	// system:masters.
	reserved = "system:"
	// rememberedGroups is how many dropped groups are remembered, so that each is logged once.
	rememberedGroups = 1024
)

// checkPrefixes rejects a prefix that begins with "system:". With it, every user or group of the
// provider would have a reserved name.
func checkPrefixes(providers []apiserver.JWTAuthenticator) field.ErrorList {
	var errs field.ErrorList
	for i, provider := range providers {
		path := field.NewPath("jwt").Index(i).Child("claimMappings")
		for _, mapping := range []struct {
			name   string
			prefix *string
		}{{"username", provider.ClaimMappings.Username.Prefix}, {"groups", provider.ClaimMappings.Groups.Prefix}} {
			if mapping.prefix != nil && strings.HasPrefix(*mapping.prefix, reserved) {
				errs = append(errs, field.Invalid(path.Child(mapping.name, "prefix"), *mapping.prefix,
					"must not begin with "+reserved+", the prefix of the server's own users and groups"))
			}
		}
	}
	return errs
}

// nameFilter wraps the authenticator of a provider and rejects the reserved names of the server's
// own users and groups. The wrapped authenticator of the library accepts every name, even an empty
// one.
//
// A token with a reserved user name is rejected, because the user has no other name. A reserved
// group is dropped, and the rest of the token stays valid. Many providers let users create groups
// and add other users to them. If such a group made the token invalid, one user could lock out
// another.
type nameFilter struct {
	authenticator.Token
	issuer string
	// logged holds the dropped groups that are in the log.
	logged *lru.Cache
}

func newNameFilter(token authenticator.Token, issuer string) authenticator.Token {
	return nameFilter{Token: token, issuer: issuer, logged: lru.New(rememberedGroups)}
}

var errNoUser = errors.New("oidc: the claim of the user's name is empty")

// AuthenticateToken implements authenticator.Token.
func (f nameFilter) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	response, ok, err := f.Token.AuthenticateToken(ctx, token)
	if err != nil || !ok {
		return response, ok, err
	}
	switch name := response.User.GetName(); {
	case name == "":
		return nil, false, errNoUser
	case strings.HasPrefix(name, reserved):
		return nil, false, fmt.Errorf("oidc: user name %q begins with %s, the prefix of the server's own users: configure a prefix",
			name, reserved)
	}
	return f.dropReserved(response), true, nil
}

// dropReserved returns the response without groups that begin with the reserved prefix.
func (f nameFilter) dropReserved(response *authenticator.Response) *authenticator.Response {
	isReserved := func(group string) bool { return strings.HasPrefix(group, reserved) }
	groups := response.User.GetGroups()
	if !slices.ContainsFunc(groups, isReserved) {
		return response
	}
	for _, group := range groups {
		if _, known := f.logged.Get(group); isReserved(group) && !known {
			f.logged.Add(group, nil)
			klog.InfoS("The group is dropped from the tokens of an OpenID provider: its prefix is that of the server's own groups. "+
				"Configure a prefix for groups.", "issuer", f.issuer, "group", group)
		}
	}
	info := &user.DefaultInfo{
		Name: response.User.GetName(), UID: response.User.GetUID(), Extra: response.User.GetExtra(),
		Groups: slices.DeleteFunc(slices.Clone(groups), isReserved),
	}
	return &authenticator.Response{User: info, Audiences: response.Audiences}
}

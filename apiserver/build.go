package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/node"
	"holdfast.dev/holdfast/native"
)

// build assembles the generic server and installs what it serves.
func (s *Server) build(ctx context.Context) error {
	scheme := native.NewScheme()
	if err := addDefinitions(scheme); err != nil {
		return err
	}
	if err := addUsedSelectors(scheme); err != nil {
		return err
	}
	usage := &node.Index{}
	used, observers := newUsed(usage)
	codecs := serializer.NewCodecFactory(scheme)

	config := genericapiserver.NewConfig(codecs)
	serving, clientCA, err := newServing(s.listener, s.pki)
	if err != nil {
		return err
	}
	config.SecureServing = serving
	if config.LoopbackClientConfig, err = loopbackClient(serving, s.pki); err != nil {
		return err
	}
	s.loopback = config.LoopbackClientConfig
	config.EffectiveVersion = newEffectiveVersion()
	config.LegacyAPIGroupPrefixes = sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)
	config.EnableMetrics, config.EnableProfiling = true, false
	running := wait.ContextForChannel(config.DrainedNotify())
	if s.transformers, err = loadEncryption(running, config, s.config.EncryptionConfig); err != nil {
		return err
	}
	// Before anything reads: what cannot be read is told once, in one line.
	if err := s.checkStored(ctx); err != nil {
		return err
	}
	config.RESTOptionsGetter = restOptions{client: s.storage, scheme: scheme, codecs: codecs, transformers: s.transformers, observers: observers}
	if err := applyAudit(config, s.config.Audit); err != nil {
		return err
	}
	applyLimits(config)
	applyOpenAPI(config)
	applyHealth(config, s.storage)
	if err := applyDefinitionRequests(config, codecs); err != nil {
		return err
	}
	clients, err := newClients(config.LoopbackClientConfig)
	if err != nil {
		return err
	}
	tokens, err := newTokens(s.pki, clients)
	if err != nil {
		return err
	}
	if err := tokens.addOthers(running, s.config, config.APIServerID); err != nil {
		return err
	}
	in := access.Authentication{ClientCA: clientCA.VerifyOptions, Tokens: tokens.known, Anonymous: s.config.Anonymous}
	if err := applyAuthentication(config, clientCA, in); err != nil {
		return err
	}
	roles, err := applyAuthorization(config, clients.informers, usage)
	if err != nil {
		return err
	}
	if err := s.applyAdmission(config, clients, roles); err != nil {
		return err
	}
	if err := s.applyOwnership(config); err != nil {
		return err
	}
	if s.generic, err = config.Complete(clients.informers).New("holdfast", genericapiserver.NewEmptyDelegate()); err != nil {
		return fmt.Errorf("build server: %w", err)
	}
	definitions, definitionsStatus, err := newDefinitionREST(scheme, config.RESTOptionsGetter, s.guard)
	if err != nil {
		return err
	}
	install := installer{
		scheme: scheme, codecs: codecs, options: config.RESTOptionsGetter, etcd: s.storage, tokens: tokens, guard: s.guard,
		used: used, features: s.config.Features,
		definitions: definitions, definitionsStatus: definitionsStatus,
	}
	stores, err := install.install(s.generic)
	if err != nil {
		return err
	}
	if err := s.addStorageCheck(stores); err != nil {
		return err
	}
	if err := s.serveCustom(config, install, clients.documents); err != nil {
		return err
	}
	if err := install.installReviews(s.generic, config.Authorization.Authorizer, config.RuleResolver); err != nil {
		return err
	}
	if err := s.serveIssuer(tokens); err != nil {
		return err
	}
	if err := s.addHooks(clients, roles, config.Authorization.Authorizer); err != nil {
		return err
	}
	if err := s.rememberCommands(); err != nil {
		return err
	}
	if err := s.addOperatorKinds(clients.dynamic); err != nil {
		return err
	}
	if err := s.addControllers(); err != nil {
		return err
	}
	return s.addFarewell()
}

package rules

// kindRules returns all rules for creates and updates, by area.
func kindRules() [][]rule {
	return [][]rule{
		selectorRules(),
		podRules(), containerRules(), envRules(), probeRules(),
		resourceRules(), volumeRules(), schedulingRules(), securityRules(),
		podUseRules(), workloadRules(), jobRules(),
		serviceRules(), endpointRules(), configRules(), claimRules(), persistentVolumeRules(), persistentSourceRules(), storageRules(),
		csiRules(), addressRules(),
		clusterRules(), nodeRules(), eventRules(), quotaRules(), limitRangeRules(), autoscalingRules(), disruptionRules(),
		networkRules(), accessRules(), webhookRules(), policyRules(), policyBindingRules(), flowRules(), trustRules(), deviceRules(),
		apiServiceRules(), migrationRules(),
	}
}

package defaults

import flowcontrolv1 "k8s.io/api/flowcontrol/v1"

func flowSchema(s *flowcontrolv1.FlowSchema) {
	setDefault(&s.Spec.MatchingPrecedence, 1000)
}

func priorityLevel(l *flowcontrolv1.PriorityLevelConfiguration) {
	if limited := l.Spec.Limited; limited != nil {
		setDefaultPtr(&limited.NominalConcurrencyShares, 30)
		setDefaultPtr(&limited.LendablePercent, 0)
		if queuing := limited.LimitResponse.Queuing; queuing != nil {
			setDefault(&queuing.HandSize, 8)
			setDefault(&queuing.Queues, 64)
			setDefault(&queuing.QueueLengthLimit, 50)
		}
	}
	if exempt := l.Spec.Exempt; exempt != nil {
		setDefaultPtr(&exempt.NominalConcurrencyShares, 0)
		setDefaultPtr(&exempt.LendablePercent, 0)
	}
}

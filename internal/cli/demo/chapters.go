package demo

import "strings"

// chapter shows one protection.
type chapter struct {
	title, text string
	steps       []step
}

// step is one command.
type step struct {
	// args are the arguments of holdfast. If file is not empty, the command prints a file instead.
	args []string
	file string
	// background says that the command runs until the demo ends.
	background bool
	// refused says that the command must fail.
	refused bool
	// wants are texts that the answer must have.
	wants []string
}

// chapters returns the chapters in their order.
func chapters() []chapter {
	return []chapter{pruning(), immutableFields(), immutableConfig(), operators(), ownership(), otherClusters()}
}

func pruning() chapter {
	return chapter{
		title: "Fields that the schema does not have are not stored",
		text:  "The server drops such a field, and warns. widget.yaml has one: a typing error.",
		steps: []step{
			command("create -f widgets.yaml"),
			command("wait --for=condition=Established crd/widgets.example.com"),
			command("create --validate=warn -f widget.yaml").wanting(`unknown field "spec.wieght"`),
			command("get widget anchor -o jsonpath={.spec}").wanting(`{"colour":"red","size":"large"}`),
		},
	}
}

func immutableFields() chapter {
	return chapter{
		title: "An immutable field keeps its value",
		text:  "widgets.yaml marks spec.size with x-kubernetes-immutable: true. spec.colour has no marker.",
		steps: []step{
			command(`patch widget anchor --type merge -p {"spec":{"colour":"blue"}}`),
			command(`patch widget anchor --type merge -p {"spec":{"size":"small"}}`).rejected("immutable"),
			command(`patch widget anchor --type json -p [{"op":"remove","path":"/spec/size"}]`).rejected("immutable"),
		},
	}
}

func immutableConfig() chapter {
	files := "host/by-name/default/web/settings/level"
	return chapter{
		title: "An immutable ConfigMap does not change, and no node watches it",
		text: "The server refuses every change of its data. The node agent, which writes volumes to files, reads it once " +
			"and opens no watch for it.",
		steps: []step{
			command("create -f settings.yaml"),
			command(`patch configmap settings --type merge -p {"data":{"level":"debug"}}`).rejected("immutable"),
			command("kubeconfig --node host-1 --output-file host-1.kubeconfig"),
			command("node --name host-1 --kubeconfig host-1.kubeconfig --root host --metrics-address=").inBackground(),
			command("create -f pod.yaml"),
			{file: files, wants: []string{"info"}},
		},
	}
}

func operators() chapter {
	return chapter{
		title: "An immutable parameter of an operator package keeps its value",
		text:  "The package cache declares the parameter ZONE as immutable, because its data cannot move.",
		steps: []step{
			command("kudo install cache --instance cache --parameter ZONE=b --wait"),
			command("kudo update cache --parameter MEMORY=2Gi --wait"),
			command("kudo update cache --parameter ZONE=c").rejected("ZONE"),
		},
	}
}

func ownership() chapter {
	return chapter{
		title: "A field that kubectl apply set is not overwritten unnoticed",
		text:  "One user applies a file, another one scales by hand. Each of them learns about the other.",
		steps: []step{
			command("apply -f web.yaml"),
			command("scale deployment web --replicas=5").wanting("Warning", "managed by `kubectl apply`"),
			command("apply -f web.yaml").wanting("Warning", "from 5 to 2"),
		},
	}
}

// otherClusters shows what a user installs on a cluster with kube-apiserver. The demo has no such cluster, so the
// chapter only shows the definition for it.
func otherClusters() chapter {
	return chapter{
		title: "The same rules on a cluster that you already have",
		text: "kube-apiserver refuses or drops the markers, but keeps an annotation. guard convert moves the markers there. " +
			"On such a cluster, holdfast guard init installs a webhook with the engine of this server, which reads the annotation and gives the " +
			"same answers. Without a webhook, holdfast schema compile turns the markers into admission policies or CEL rules. " +
			"This demo has no kube-apiserver, so it ends here.",
		steps: []step{
			command("guard convert -f widgets.yaml").wanting("holdfast.dev/immutability", "immutable spec.size"),
		},
	}
}

func command(line string) step { return step{args: strings.Fields(line)} }

func (st step) wanting(texts ...string) step {
	st.wants = texts
	return st
}

func (st step) rejected(texts ...string) step {
	st.refused, st.wants = true, texts
	return st
}

func (st step) inBackground() step {
	st.background = true
	return st
}

// line returns the command as a user types it in a shell.
func (st step) line() string {
	if st.file != "" {
		return "cat " + st.file
	}
	words := make([]string, 0, len(st.args)+2)
	words = append(words, "holdfast")
	for _, arg := range st.args {
		if strings.ContainsAny(arg, `{}[]"*$`) {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	if st.background {
		words = append(words, "&")
	}
	return strings.Join(words, " ")
}

package images

import (
	"flag"
	"fmt"
	"strings"
)

// Variable tells the tests the images' references: name=reference of each, separated by commas.
const Variable = "FRESHET_E2E_IMAGES"

// References are the images' names and references as in [Variable]. Again is Freshet's second name there, by the name freshet-again.
func References(all []Image) string {
	var list []string
	for _, i := range all {
		list = append(list, i.Name+"="+i.Ref)
		if i.Again != "" {
			list = append(list, i.Name+"-again="+i.Again)
		}
	}
	return strings.Join(list, ",")
}

// ParseReferences returns the references of [References] by the images' names.
func ParseReferences(text string) (map[string]string, error) {
	references := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, ref, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%s is not set to name=reference,…: use make e2e", Variable)
		}
		references[name] = ref
	}
	return references, nil
}

// DemandFlag adds the flag --images, which names images that [Build] is to build on demand.
func DemandFlag(flags *flag.FlagSet) *[]string {
	demanded := new([]string)
	flags.Func("images", "images to build besides, by their names, separated by commas: kafka takes a JDK and Maven", func(names string) error {
		*demanded = strings.Split(names, ",")
		return nil
	})
	return demanded
}

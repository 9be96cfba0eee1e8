{{- define "freshet.name" -}}
{{ printf "%s-operator" .Release.Name | trunc 63 }}
{{- end }}
{{- define "freshet.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- define "freshet.selector" -}}
app.kubernetes.io/name: freshet-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "freshet.labels" -}}
{{ include "freshet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
{{- define "freshet.monitoringLabels" -}}
{{ include "freshet.labels" . }}
{{- with .Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Settings that differ from the speaker's own defaults. */}}
{{- define "signpost.settings" -}}
{{- $defaults := dict "PROFILE" "default" "CLUSTER" "default" "HEARTBEAT_PORT" "7947" "BGP_PORT" "179" "DRAIN_SECONDS" "30" "LOG_LEVEL" "info" "LOG_FORMAT" "auto" "INTERFACE" "" }}
{{- $values := dict "PROFILE" .Values.profile "CLUSTER" .Values.cluster "HEARTBEAT_PORT" .Values.heartbeatPort "BGP_PORT" .Values.bgpPort "DRAIN_SECONDS" .Values.drainSeconds "LOG_LEVEL" .Values.log.level "LOG_FORMAT" .Values.log.format "INTERFACE" (join "," .Values.interfaces) }}
{{- range $name, $value := $values }}
{{- if ne (toString $value) (get $defaults $name) }}
- name: SIGNPOST_{{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end }}

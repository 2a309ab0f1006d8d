# Completion for antiphase in bash.  It reads the help that the programs print
# from their own tables of verbs and options, so it cannot drift from them.
_antiphase()
{
	local word=${COMP_WORDS[COMP_CWORD]} words=

	if [ "$COMP_CWORD" = 1 ]; then
		words=$(antiphase help 2>/dev/null | awk '/^  [a-z]/ { print $1 }')
	elif [[ $word == -* ]]; then
		words=$(antiphase "${COMP_WORDS[@]:1:COMP_CWORD-1}" --help 2>/dev/null |
			grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
	elif [ "$COMP_CWORD" = 2 ]; then
		words=$(antiphase "${COMP_WORDS[1]}" --help 2>/dev/null |
			awk '/^  [a-z]+ / { print $1 }')
	fi
	# shellcheck disable=SC2207  # words have no blanks
	COMPREPLY=($(compgen -W "$words" -- "$word"))
	[ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}
complete -F _antiphase antiphase

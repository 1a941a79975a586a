"""Words an invented CV is made of, by language. No real person, company or school is meant."""

from dataclasses import dataclass
from typing import Final, Literal

PdfFont = Literal["latin", "vera", "chinese", "none"]
"""What reportlab draws the script with out of the box; `none`: only as DOCX."""


@dataclass(frozen=True)
class Language:
    """One language's names, labels and phrases; phrases of one list are interchangeable."""

    code: str
    font: PdfFont
    share: int  # weight among all CVs
    given: tuple[str, ...]
    family: tuple[str, ...]
    cities: tuple[str, ...]
    phone: str  # numbers reserved for fiction where the country has some; `{}` takes digits
    file_name: str
    headings: tuple[str, str, str, str, str]  # profile, work, education, skills, languages
    titles: tuple[str, ...]
    companies: tuple[str, ...]
    schools: tuple[str, ...]
    degrees: tuple[str, ...]
    bullets: tuple[str, ...]
    profile: str
    present: str
    spoken: tuple[tuple[str, str], ...]
    letter: tuple[str, ...]


SKILLS: Final = (
    *("Python", "SQL", "Dagster", "PostgreSQL", "Excel", "SAP", "Kubernetes", "AutoCAD", "Figma", "Java"),
    *("Salesforce", "Power BI", "React", "Terraform", "Photoshop", "TypeScript", "Jira", "Linux"),
)

LANGUAGES: Final = (
    Language(
        code="en",
        font="latin",
        share=30,
        given=("Imogen", "Callum", "Rosalind", "Desmond", "Tamsin", "Alistair", "Winifred", "Barnaby"),
        family=("Hartwell", "Ashdown", "Pemberly", "Quillfeather", "Thornbury", "Wexcombe", "O'Dunmore"),
        cities=("Bristol", "Leeds", "Dublin", "Toronto"),
        phone="+44 20 7946 0{:03d}",
        file_name="CV.pdf",
        headings=("Profile", "Work Experience", "Education", "Skills", "Languages"),
        titles=("Data Engineer", "Project Manager", "Accountant", "Warehouse Supervisor", "Nurse"),
        companies=("Northwind Example Ltd", "Fernhill Example plc", "Contoso Example Ltd"),
        schools=("University of Exampleshire", "Fernhill College"),
        degrees=("BSc Computer Science", "BA Business Administration", "MSc Logistics"),
        bullets=(
            "Cut the monthly close from nine days to four",
            "Led a team of six across two sites",
            "Introduced weekly planning with suppliers",
            "Moved forty reports to a shared data model",
        ),
        profile="Reliable professional who enjoys clear goals and tidy work.",
        present="Present",
        spoken=(("English", "native"), ("French", "B2")),
        letter=(
            "Dear Hiring Team,",
            "I am writing to apply for the advertised position.",
            "I look forward to hearing from you.",
            "Yours sincerely,",
        ),
    ),
    Language(
        code="de",
        font="latin",
        share=15,
        given=("Jörg", "Käthe", "Friedhelm", "Annegret", "Götz", "Wiebke"),
        family=("Weißmöller", "Grünspecht", "Haselstrauß", "Bärwinkel", "Süßenbach"),
        cities=("Köln", "Münster", "Graz", "Zürich"),
        phone="+49 30 23125 {:03d}",
        file_name="Lebenslauf.pdf",
        headings=("Profil", "Berufserfahrung", "Ausbildung", "Kenntnisse", "Sprachen"),
        titles=("Dateningenieurin", "Projektleiter", "Buchhalter", "Pflegefachkraft"),
        companies=("Nordwind Beispiel GmbH", "Musterwerk Beispiel AG", "Beispiel & Söhne KG"),
        schools=("Universität Musterstadt", "Fachhochschule Beispielheim"),
        degrees=("Diplom-Informatik", "B.A. Betriebswirtschaft", "Ausbildung Industriekaufmann"),
        bullets=(
            "Monatsabschluss von neun auf vier Tage verkürzt",
            "Team mit sechs Personen an zwei Standorten geführt",
            "Vierzig Berichte auf ein gemeinsames Datenmodell überführt",
        ),
        profile="Zuverlässig, gründlich und gern im Gespräch mit Kunden.",
        present="heute",
        spoken=(("Deutsch", "Muttersprache"), ("Englisch", "C1")),
        letter=(
            "Sehr geehrte Damen und Herren,",
            "hiermit bewerbe ich mich um die ausgeschriebene Stelle.",
            "Über eine Einladung zum Gespräch freue ich mich.",
            "Mit freundlichen Grüßen",
        ),
    ),
    Language(
        code="fr",
        font="latin",
        share=12,
        given=("Élodie", "Gaëtan", "Solène", "Théophile", "Maëlle"),
        family=("Châteaubrun", "Lefrançois", "Desprésclair", "Montgivré"),
        cities=("Nantes", "Liège", "Lausanne"),
        phone="+33 1 99 00 0{:03d}",
        file_name="CV_français.pdf",
        headings=("Profil", "Expérience professionnelle", "Formation", "Compétences", "Langues"),
        titles=("Ingénieure de données", "Chef de projet", "Comptable", "Infirmier"),
        companies=("Vent du Nord Exemple SA", "Atelier Exemple SARL"),
        schools=("Université d'Exempleville", "École supérieure d'Exemple"),
        degrees=("Master Informatique", "Licence de gestion", "BTS Comptabilité"),
        bullets=(
            "Réduit la clôture mensuelle de neuf à quatre jours",
            "Encadré une équipe de six personnes sur deux sites",
            "Migré quarante rapports vers un modèle de données commun",
        ),
        profile="Professionnelle rigoureuse, à l'aise avec les clients et les chiffres.",
        present="aujourd'hui",
        spoken=(("Français", "langue maternelle"), ("Anglais", "C1")),
        letter=(
            "Madame, Monsieur,",
            "Je vous adresse ma candidature au poste proposé.",
            "Dans l'attente de votre réponse,",
            "Je vous prie d'agréer mes salutations distinguées",
        ),
    ),
    Language(
        code="es",
        font="latin",
        share=12,
        given=("Ximena", "Íñigo", "Begoña", "Nicolás", "Araceli"),
        family=("Córdova Lizárraga", "Peñalba Muñiz", "Ybarrondo Núñez", "Quiñones Arce"),
        cities=("Zaragoza", "Guadalajara", "Córdoba"),
        phone="+34 600 000 {:03d}",
        file_name="Curriculum.pdf",
        headings=("Perfil", "Experiencia laboral", "Formación académica", "Habilidades", "Idiomas"),
        titles=("Ingeniera de datos", "Jefe de proyecto", "Contable", "Enfermera"),
        companies=("Viento Norte Ejemplo SL", "Talleres Ejemplo SA"),
        schools=("Universidad de Ejemplópolis", "Instituto Ejemplo"),
        degrees=("Grado en Informática", "Licenciatura en Administración", "Máster en Logística"),
        bullets=(
            "Reduje el cierre mensual de nueve a cuatro días",
            "Dirigí un equipo de seis personas en dos sedes",
            "Migré cuarenta informes a un modelo de datos común",
        ),
        profile="Profesional ordenada que disfruta de los objetivos claros.",
        present="actualidad",
        spoken=(("Español", "nativo"), ("Inglés", "B2")),
        letter=(
            "Estimados señores:",
            "Les escribo para presentar mi candidatura al puesto.",
            "Quedo a la espera de su respuesta.",
            "Atentamente,",
        ),
    ),
    Language(
        code="pt",
        font="latin",
        share=10,
        given=("Thaís", "Caetano", "Luísa", "Gonçalo", "Iracema"),
        family=("Nogueira d'Ávila", "Brandão Falcão", "Sertório Mourão", "Assunção Leitão"),
        cities=("São José", "Coimbra", "Belém"),
        phone="+55 11 5555-0{:03d}",
        file_name="Currículo.pdf",
        headings=("Perfil", "Experiência profissional", "Formação acadêmica", "Habilidades", "Idiomas"),
        titles=("Engenheira de dados", "Gerente de projetos", "Contador", "Enfermeira"),
        companies=("Vento Norte Exemplo Ltda", "Oficina Exemplo SA"),
        schools=("Universidade de Exemplópolis", "Instituto Exemplo"),
        degrees=("Bacharelado em Computação", "Graduação em Administração", "Tecnólogo em Logística"),
        bullets=(
            "Reduzi o fechamento mensal de nove para quatro dias",
            "Liderei uma equipe de seis pessoas em dois locais",
            "Migrei quarenta relatórios para um modelo de dados comum",
        ),
        profile="Profissional organizada, com gosto por metas claras.",
        present="atual",
        spoken=(("Português", "nativo"), ("Inglês", "B2")),
        letter=(
            "Prezados senhores,",
            "Venho por meio desta candidatar-me à vaga anunciada.",
            "Fico à disposição para uma entrevista.",
            "Atenciosamente,",
        ),
    ),
    Language(
        code="it",
        font="latin",
        share=7,
        given=("Niccolò", "Fiammetta", "Ruggero", "Libertà"),
        family=("Bellosguardo", "Montefiorìto", "D'Acquaviva", "Querciolini"),
        cities=("Ferrara", "Lecce", "Lugano"),
        phone="+39 06 5555 0{:03d}",
        file_name="Curriculum_vitae.pdf",
        headings=("Profilo", "Esperienza lavorativa", "Istruzione e formazione", "Competenze", "Lingue"),
        titles=("Ingegnere dei dati", "Responsabile di progetto", "Contabile", "Infermiera"),
        companies=("Vento del Nord Esempio Srl", "Officina Esempio SpA"),
        schools=("Università di Esempiopoli", "Istituto Esempio"),
        degrees=("Laurea in Informatica", "Laurea in Economia", "Diploma di ragioneria"),
        bullets=(
            "Ridotto la chiusura mensile da nove a quattro giorni",
            "Guidato un gruppo di sei persone in due sedi",
            "Migrato quaranta rapporti a un modello dati comune",
        ),
        profile="Professionista affidabile, con attenzione ai dettagli e alla qualità.",
        present="oggi",
        spoken=(("Italiano", "madrelingua"), ("Inglese", "B2")),
        letter=(
            "Gentili signori,",
            "con la presente mi candido per la posizione pubblicata.",
            "Resto in attesa di un Vostro riscontro.",
            "Cordiali saluti",
        ),
    ),
    Language(
        code="tr",
        font="vera",
        share=5,
        given=("Işılay", "Doğukan", "Gülçin", "Şahinbey"),
        family=("Çağlayanoğlu", "Yıldırımsoy", "Gümüşdağ", "Öztürkmen"),
        cities=("İzmir", "Eskişehir"),
        phone="+90 212 555 0{:03d}",
        file_name="Özgeçmiş.pdf",
        headings=("Profil", "İş Deneyimi", "Eğitim", "Beceriler", "Diller"),
        titles=("Veri Mühendisi", "Proje Yöneticisi", "Muhasebeci"),
        companies=("Kuzey Rüzgarı Örnek A.Ş.", "Örnek Atölye Ltd. Şti."),
        schools=("Örnekşehir Üniversitesi", "Örnek Meslek Yüksekokulu"),
        degrees=("Bilgisayar Mühendisliği Lisans", "İşletme Lisans"),
        bullets=(
            "Aylık kapanışı dokuz günden dört güne indirdim",
            "İki şehirde altı kişilik ekibi yönettim",
            "Kırk raporu ortak veri modeline taşıdım",
        ),
        profile="Düzenli çalışan, açık hedefleri seven bir uzman.",
        present="günümüz",
        spoken=(("Türkçe", "ana dil"), ("İngilizce", "B2")),
        letter=(
            "Sayın Yetkili,",
            "İlan edilen pozisyona başvurmak istiyorum.",
            "Olumlu yanıtınızı bekliyorum.",
            "Saygılarımla,",
        ),
    ),
    Language(
        code="zh",
        font="chinese",
        share=5,
        given=("梓涵", "思远", "雨桐", "嘉懿"),
        family=("欧阳", "司徒", "慕容", "诸葛"),
        cities=("苏州", "成都"),
        phone="+86 10 5555 0{:03d}",
        file_name="简历.pdf",
        headings=("个人简介", "工作经历", "教育背景", "专业技能", "语言能力"),
        titles=("数据工程师", "项目经理", "会计"),
        companies=("北风示例有限公司", "示例工坊股份有限公司"),
        schools=("示例城大学", "示例职业学院"),
        degrees=("计算机科学学士", "工商管理硕士"),
        bullets=(
            "将月度结账时间从九天缩短到四天",
            "管理两个城市的六人团队",
            "将四十份报表迁移到统一数据模型",
        ),
        profile="工作认真负责，善于与客户沟通。",
        present="至今",
        spoken=(("中文", "母语"), ("英语", "B2")),
        letter=("尊敬的招聘负责人：", "我希望应聘贵公司发布的职位。", "期待您的回复。", "此致敬礼"),
    ),
    Language(
        code="ar",
        font="none",
        share=4,
        given=("ليلى", "نضال", "سلمى", "غسان"),
        family=("الحدادين", "البستاني", "القمرية", "النهرواني"),
        cities=("عمّان", "الرباط"),
        phone="+962 6 555 0{:03d}",
        file_name="السيرة_الذاتية.pdf",
        headings=("نبذة", "الخبرة العملية", "التعليم", "المهارات", "اللغات"),
        titles=("مهندسة بيانات", "مدير مشروع", "محاسب"),
        companies=("شركة الرياح المثال", "ورشة المثال المحدودة"),
        schools=("جامعة مدينة المثال", "معهد المثال"),
        degrees=("بكالوريوس علوم الحاسوب", "ماجستير إدارة الأعمال"),
        bullets=(
            "خفّضت مدة الإقفال الشهري من تسعة أيام إلى أربعة",
            "قدت فريقاً من ستة أشخاص في موقعين",
            "نقلت أربعين تقريراً إلى نموذج بيانات مشترك",
        ),
        profile="مهنية منظمة تحب الأهداف الواضحة.",
        present="الآن",
        spoken=(("العربية", "اللغة الأم"), ("الإنجليزية", "B2")),
        letter=("السادة المحترمون،", "أتقدم بطلب للوظيفة المعلنة.", "بانتظار ردكم.", "مع خالص التحية"),
    ),
)
